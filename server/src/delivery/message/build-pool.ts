import type { BatchOutcome } from '../../lib/batch.ts'
import { createFairQueue } from '../../lib/fair-queue.ts'
import type { Log } from '../../lib/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { createProgress, createThreadPool, spareCores, watchProgress } from '../../lib/thread-pool.ts'
import { MB, MINUTE } from '../../lib/units.ts'
import { type BuildRequest, NOT_BEGUN } from './build.ts'
import type { TimeoutGuard } from './timeouts.ts'

/** What a thread is told once. */
export type ThreadData = { master: string; publicUrl: string; logLevel: string }

/** Emails of one project that go to a thread together: enough to be worth the way, few enough for others to get their turn. */
const TOGETHER = 8
/** Mails may have files of megabytes. */
const TOGETHER_BYTES = 4 * MB
/** Groups that a thread has in hand: the one it works at, and the next. */
const IN_HAND = 2
const MAX_PENDING = 10_000
const MAX_WAIT_MS = 120_000
/**
 * Time limit of one email, not counting its wait. Ordinary ones take a millisecond. What is encoded and signed takes time by its size: 40 MB
 * take up to two seconds.
 */
const LIMIT_MS = 1_000
const LIMIT_MS_PER_MB = 250
/** Attempts of an email whose thread ended before its turn came. */
const MAX_TRIES = 3
/** What a mail leaves behind is dead when the next begins. */
const YOUNG_MB = 6
/** Emails that take this long each make their project slow for a while: it then has one thread, and the others are free for everyone else. */
const SLOW_MS = 100
const SLOW_FOR_MS = MINUTE

/** Building took too long, or is not tried because it did before. The message is for the sender of the email. */
export class BuildError extends Error {}

type Deps = { secrets: Secrets; publicUrl: string; log: Log; limitMsOf?: (request: BuildRequest) => number }
type Call = {
  request: BuildRequest
  guard: TimeoutGuard | undefined
  tries: number
  resolve: (message: Uint8Array) => void
  reject: (err: unknown) => void
}
/** The emails of one project and lane that wait, the turns that were asked for them, and the groups being built. */
type ProjectQueue = { projectId: string; priority: number; calls: Call[]; turns: number; building: number; isScheduled: boolean }

/**
 * Makes mails in threads. Composing and signing take more of the processor than all the rest of sending; on the main thread everyone
 * who waits for an answer would wait for them as well. Projects take turns, transactional mail first.
 */
export function createBuildPool({ secrets, publicUrl, log, limitMsOf = timeLimitOf }: Deps) {
  const maxThreads = spareCores(2, 4)
  const workerData: ThreadData = { master: secrets.master, publicUrl, logLevel: log.level }
  const threads = createThreadPool({
    file: 'build-thread',
    from: import.meta.url,
    minThreads: 1,
    maxThreads,
    youngGenMb: YOUNG_MB,
    queueDepth: IN_HAND,
    workerData,
  })
  const slow = createSlowProjects()
  const queue = createFairQueue({ slots: maxThreads * IN_HAND, maxWaiting: MAX_PENDING, maxWaitMs: MAX_WAIT_MS, isSlow: slow.has })
  const lines = new Map<string, ProjectQueue>()
  let kills = 0

  function lineOf(priority: number, projectId: string) {
    const key = `${priority}:${projectId}`
    const line = lines.get(key) ?? { projectId, priority, calls: [], turns: 0, building: 0, isScheduled: false }
    lines.set(key, line)
    return line
  }

  /** Turns are asked for when all emails of this moment are there, so that they go together. */
  function schedule(line: ProjectQueue) {
    if (line.isScheduled) return
    line.isScheduled = true
    setImmediate(() => {
      line.isScheduled = false
      askForTurns(line)
    })
  }

  function askForTurns(line: ProjectQueue) {
    while (line.turns * TOGETHER < line.calls.length) {
      line.turns++
      void queue
        .run(line.projectId, line.priority, async () => {
          line.turns--
          line.building++
          await buildNext(line)
          line.building--
          askForTurns(line)
        })
        .catch((err) => {
          // Too much waits, or for too long.
          line.turns--
          for (const { reject } of line.calls.splice(0, TOGETHER)) reject(err)
        })
    }
    if (!line.turns && !line.building && !line.calls.length) lines.delete(`${line.priority}:${line.projectId}`)
  }

  async function buildNext(line: ProjectQueue) {
    const group = takeGroup(line.calls)
    // A group may be smaller than eight; the rest needs another turn.
    askForTurns(line)
    if (group.length) line.calls.unshift(...(await build(group)))
  }

  /** Returns the emails that need another turn. Never throws. */
  async function build(group: Call[]): Promise<Call[]> {
    const { projectId } = group[0]!.request.email
    const progress = createProgress(NOT_BEGUN)
    const killer = new AbortController()
    const killsBefore = kills
    const limitAt = (at: number) => (at < 0 ? MAX_WAIT_MS : limitMsOf(group[at]!.request))
    const stopWatching = watchProgress(progress, limitAt, () => {
      kills++
      killer.abort()
    })
    try {
      const work = { orders: group.map(({ request }) => request), progress }
      const outcomes: BatchOutcome<Uint8Array>[] = await threads.run(work, { name: 'buildGroup', signal: killer.signal })
      if (Atomics.load(progress, 1) > SLOW_MS * outcomes.length) slow.note(projectId)
      for (const [index, outcome] of outcomes.entries()) settle(group[index]!, outcome)
      return group.slice(outcomes.length)
    } catch (err) {
      const at = Atomics.load(progress, 0)
      const isKilled = killer.signal.aborted
      if (isKilled) slow.note(projectId)
      // Another group of the same thread was the reason.
      if (!isKilled && kills > killsBefore) return group
      if (at < 0) return group.filter((call) => mayTryAgain(call, err))
      const guilty = group[at]!
      settle(guilty, { error: isKilled ? timeOut(guilty.request) : err })
      return group.filter((call) => call !== guilty)
    } finally {
      stopWatching()
    }
  }

  const timeOut = (order: BuildRequest) => new BuildError(`Building the message took longer than ${limitMsOf(order) / 1_000} s.`)

  return {
    build: (priority: number, request: BuildRequest, guard?: TimeoutGuard) =>
      new Promise<Uint8Array>((resolve, reject) => {
        const line = lineOf(priority, request.email.projectId)
        line.calls.push({ request, guard, tries: 0, resolve, reject })
        schedule(line)
      }).then(({ buffer, byteOffset, length }) => Buffer.from(buffer, byteOffset, length)),
    close: () => threads.destroy(),
  }
}

function settle({ guard, resolve, reject }: Call, outcome: BatchOutcome<Uint8Array>) {
  if ('value' in outcome) {
    guard?.succeeded()
    return resolve(outcome.value)
  }
  if (outcome.error instanceof BuildError) guard?.timedOut(outcome.error.message)
  reject(outcome.error)
}

/** The thread ended before its turn, or could not be told about it: then it goes alone, so that it takes no other along. */
function mayTryAgain(call: Call, err: unknown) {
  if (++call.tries < MAX_TRIES) return true
  call.reject(err)
  return false
}

/** The next emails that go together. Emails of a content that keeps timing out are refused on the way. */
function takeGroup(calls: Call[]): Call[] {
  const group: Call[] = []
  let bytes = 0
  while (calls.length && group.length < TOGETHER) {
    const [next] = calls as [Call]
    const refusal = next.guard?.refusal()
    const size = weightOf(next.request)
    if (refusal === undefined && group.length && (bytes + size > TOGETHER_BYTES || next.tries || group[0]!.tries)) break
    calls.shift()
    if (refusal !== undefined) next.reject(new BuildError(refusal))
    else group.push(next)
    bytes += size
  }
  return group
}

const weightOf = ({ html, content }: BuildRequest) =>
  content.attachments.reduce((sum, { content: file }) => sum + file.length, 2 * html.length)

const timeLimitOf = (order: BuildRequest) => LIMIT_MS + LIMIT_MS_PER_MB * Math.floor(weightOf(order) / MB)

/** Projects whose emails recently took long to build. */
function createSlowProjects() {
  const until = new Map<string, number>()
  return {
    has: (projectId: string) => until.size > 0 && (until.get(projectId) ?? 0) > performance.now(),
    note(projectId: string) {
      until.delete(projectId)
      until.set(projectId, performance.now() + SLOW_FOR_MS)
      const [oldest] = until
      if (oldest && oldest[1] < performance.now()) until.delete(oldest[0])
    },
  }
}
