import { createCache } from '../../lib/collections/cache.ts'
import type { BatchOutcome } from '../../lib/concurrency/batch.ts'
import { createFairSemaphore } from '../../lib/fair/semaphore.ts'
import type { Log } from '../../lib/process/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { MB, MINUTE } from '../../lib/text/units.ts'
import { messageLimitMs } from '../../lib/threads/reading-threads.ts'
import { createThreadPool, spareCores, watchProgress } from '../../lib/threads/thread-pool.ts'
import { createProgress } from '../../lib/threads/thread-progress.ts'
import { type BuildRequest, type BuiltGroup, NOT_BEGUN } from './build.ts'
import type { TimeoutGuard } from './timeouts.ts'

/** Start data of a thread. */
export type ThreadData = { masters: [string, ...string[]]; publicUrl: string; logLevel: string }

/** Emails of one project per group: enough to be worth the transfer, few enough for other projects to get their turn. */
const GROUP_SIZE = 16
/** Attachments may have megabytes. */
const GROUP_BYTES = 4 * MB
/** Groups per thread: the one being built and the next. */
const QUEUE_DEPTH = 2
/** Groups of one owner. */
const MAX_PENDING = 5_000
const MAX_WAIT_MS = 120_000
/** Attempts for an email whose thread died before its build started. */
const MAX_TRIES = 3
/** Small: the garbage of one build is dead when the next begins. */
const YOUNG_MB = 6
/** Build time per email that makes its owner slow for a while: it then gets one thread, and the others stay free for other owners. */
const SLOW_MS = 100
const SLOW_FOR_MS = MINUTE
const MAX_SLOW_OWNERS = 1_000

/** A build took too long, or was not tried because earlier ones of its content did. The error text is shown to the project. */
export class BuildError extends Error {
  readonly untried: boolean
  constructor(message: string, { untried = false } = {}) {
    super(message)
    this.untried = untried
  }
}

/** `ownerOf`: the owner of a project. Threads are shared between owners. */
type Deps = {
  secrets: Secrets
  publicUrl: string
  log: Log
  ownerOf?: (projectId: string) => string
  limitMsOf?: (request: BuildRequest) => number
}
type Call = {
  request: BuildRequest
  guard: TimeoutGuard | undefined
  tries: number
  resolve: (message: Buffer) => void
  reject: (err: unknown) => void
}
/** The waiting emails of one project and priority, the slots requested for them, and the groups being built. */
type ProjectQueue = { projectId: string; priority: number; calls: Call[]; requested: number; building: number; isScheduled: boolean }

/**
 * Builds messages in threads. Composing and signing take more CPU than all other steps of sending; on the main thread they would delay every
 * request. Owners of projects take turns, transactional emails first.
 */
export function createBuildPool({ secrets, publicUrl, log, ownerOf = (projectId) => projectId, limitMsOf = timeLimitOf }: Deps) {
  const maxThreads = spareCores(2, 4)
  const workerData: ThreadData = { masters: secrets.masters, publicUrl, logLevel: log.level }
  const threads = createThreadPool({
    file: 'build-thread',
    from: import.meta.url,
    minThreads: 1,
    maxThreads,
    youngGenMb: YOUNG_MB,
    queueDepth: QUEUE_DEPTH,
    workerData,
  })
  const slow = createSlowOwners()
  const withSlot = createFairSemaphore({
    slots: maxThreads * QUEUE_DEPTH,
    maxWaiting: MAX_PENDING,
    maxWaitMs: MAX_WAIT_MS,
    isSlow: slow.has,
  })
  const queues = new Map<string, ProjectQueue>()
  let kills = 0

  function queueOf(priority: number, projectId: string) {
    const key = `${priority}:${projectId}`
    const projectQueue = queues.get(key) ?? { projectId, priority, calls: [], requested: 0, building: 0, isScheduled: false }
    queues.set(key, projectQueue)
    return projectQueue
  }

  /** Requests slots after all emails of this tick are queued, so that they form groups. */
  function schedule(projectQueue: ProjectQueue) {
    if (projectQueue.isScheduled) return
    projectQueue.isScheduled = true
    setImmediate(() => {
      projectQueue.isScheduled = false
      requestSlots(projectQueue)
    })
  }

  function requestSlots(projectQueue: ProjectQueue) {
    while (projectQueue.requested * GROUP_SIZE < projectQueue.calls.length) {
      projectQueue.requested++
      const buildGroup = async () => {
        projectQueue.requested--
        projectQueue.building++
        await buildNext(projectQueue)
        projectQueue.building--
        requestSlots(projectQueue)
      }
      withSlot(ownerOf(projectQueue.projectId), buildGroup, { priority: projectQueue.priority }).catch((err) => {
        // Too many wait, or the wait was too long.
        projectQueue.requested--
        for (const { reject } of projectQueue.calls.splice(0, GROUP_SIZE)) reject(err)
      })
    }
    if (!projectQueue.requested && !projectQueue.building && !projectQueue.calls.length)
      queues.delete(`${projectQueue.priority}:${projectQueue.projectId}`)
  }

  async function buildNext(projectQueue: ProjectQueue) {
    const group = takeGroup(projectQueue.calls)
    // The group may be smaller than GROUP_SIZE; the rest needs another turn.
    requestSlots(projectQueue)
    if (group.length) projectQueue.calls.unshift(...(await build(group)))
  }

  /** Builds a group and returns the emails that need another turn. Never throws. */
  async function build(group: Call[]): Promise<Call[]> {
    const owner = ownerOf(group[0]!.request.email.projectId)
    const progress = createProgress(NOT_BEGUN)
    const killer = new AbortController()
    const killsBefore = kills
    const limitAt = (at: number) => (at < 0 ? MAX_WAIT_MS : limitMsOf(group[at]!.request))
    const stopWatching = watchProgress(progress, limitAt, () => {
      kills++
      killer.abort()
    })
    try {
      const work = { requests: group.map(({ request }) => request), progress }
      const built: BuiltGroup = await threads.run(work, { name: 'buildGroup', signal: killer.signal })
      const outcomes = outcomesOf(built)
      if (Atomics.load(progress, 1) > SLOW_MS * outcomes.length) slow.note(owner)
      for (const [index, outcome] of outcomes.entries()) settle(group[index]!, outcome)
      return group.slice(outcomes.length)
    } catch (err) {
      const at = Atomics.load(progress, 0)
      const isKilled = killer.signal.aborted
      if (isKilled) slow.note(owner)
      // Another group of the same thread was the cause.
      if (!isKilled && kills > killsBefore) return group
      if (at < 0) return group.filter((call) => mayTryAgain(call, err))
      const culprit = group[at]!
      settle(culprit, { error: isKilled ? timeOut(culprit.request) : err })
      return group.filter((call) => call !== culprit)
    } finally {
      stopWatching()
    }
  }

  const timeOut = (request: BuildRequest) => new BuildError(`Building the message took longer than ${limitMsOf(request) / 1_000} s.`)

  return {
    build: (priority: number, request: BuildRequest, guard?: TimeoutGuard) =>
      new Promise<Buffer>((resolve, reject) => {
        const projectQueue = queueOf(priority, request.email.projectId)
        projectQueue.calls.push({ request, guard, tries: 0, resolve, reject })
        schedule(projectQueue)
      }),
    close: () => threads.destroy(),
  }
}

const outcomesOf = ({ bytes, ends, errors }: BuiltGroup) =>
  ends.map((end, index): BatchOutcome<Buffer> => {
    const error = errors[index]
    const start = ends[index - 1] ?? 0
    return error ? { error } : { value: Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start) }
  })

function settle({ guard, resolve, reject }: Call, outcome: BatchOutcome<Buffer>) {
  if ('value' in outcome) {
    guard?.succeeded()
    return resolve(outcome.value)
  }
  if (outcome.error instanceof BuildError) guard?.timedOut(outcome.error.message)
  reject(outcome.error)
}

/** The thread died before the build started, or the request could not be transferred. The email is then built alone, so that it affects no other. */
function mayTryAgain(call: Call, err: unknown) {
  if (++call.tries < MAX_TRIES) return true
  call.reject(err)
  return false
}

/** Takes the next group. Emails of a content that keeps timing out are refused on the way. */
function takeGroup(calls: Call[]): Call[] {
  const group: Call[] = []
  let bytes = 0
  while (calls.length && group.length < GROUP_SIZE) {
    const [next] = calls as [Call]
    const refusal = next.guard?.refusal()
    const size = weightOf(next.request)
    if (refusal === undefined && group.length && (bytes + size > GROUP_BYTES || next.tries || group[0]!.tries)) break
    calls.shift()
    if (refusal !== undefined) next.reject(new BuildError(refusal, { untried: true }))
    else group.push(next)
    bytes += size
  }
  return group
}

const weightOf = ({ html, content }: BuildRequest) =>
  content.attachments.reduce((sum, { content: file }) => sum + file.length, 2 * html.length + (content.raw?.bytes.length ?? 0))

/** Per email, not counting its wait. */
const timeLimitOf = (request: BuildRequest) => messageLimitMs(weightOf(request))

/** Owners whose emails recently took long to build. */
function createSlowOwners() {
  const until = createCache<string, number>({ maxEntries: MAX_SLOW_OWNERS })
  return {
    has: (owner: string) => until.size > 0 && (until.get(owner) ?? 0) > performance.now(),
    note: (owner: string) => until.set(owner, performance.now() + SLOW_FOR_MS),
  }
}
