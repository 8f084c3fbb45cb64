import { setTimeout as sleep } from 'node:timers/promises'
import { type Pool, transact } from '../../db/index.ts'
import { crash } from '../../lib/crash-point.ts'
import { every } from '../../lib/every.ts'
import type { Log } from '../../lib/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { MINUTE } from '../../lib/units.ts'
import { createWakeSignal } from '../../lib/wake-signal.ts'
import {
  type ClaimedEmail,
  claimSuspect,
  countWorkers,
  createClaim,
  hasSuspects,
  PRIORITIES,
  recoverFromDeadWorkers,
  releaseUnheld,
  renewLease,
  wakeDeferred,
} from '../outbox/claim.ts'
import { resolveUnknown } from '../outbox/evidence.ts'
import { listenToQueue } from '../outbox/queue-notifications.ts'
import type { Disposition } from '../transport/classify.ts'
import type { Transport } from '../transport/transport.ts'
import { BULK_SHARE, buildBatches, isTooMuchReady, nextInTurn, type Room, roomFor } from './capacity.ts'
import { expireQueued } from './expire.ts'
import { createHealth } from './health.ts'
import { createPace } from './pace.ts'
import type { PauseTiming } from './pauses.ts'
import { createPipeline, idOf, type ReadyEmail } from './pipeline.ts'

type Options = {
  db: Pool
  /** A few connections that nothing else uses, for marks, leases and settlement: a busy API must not delay these. */
  ownDb: Pool
  url: string
  secrets: Secrets
  log: Log
  worker: number
  /** False while this process counts as dead: what it claims then, others take back. */
  isHeld: () => boolean
  transport: Transport
  publicUrl: string
  signs: boolean
  bounceDomain: string | undefined
  ratePerSecond: number | undefined
  timing?: Timing
}

/** How long a silent process counts as living, how long evidence may take before the policy decides, and how often that is asked. */
type Timing = { leaseMs: number; unknownMs: number; resolveMs: number; pauses?: PauseTiming }
const TIMING: Timing = { leaseMs: 15_000, unknownMs: 15 * MINUTE, resolveMs: 5_000 }

/** Mails on the wire at once. */
const CONCURRENCY = 16
/** Poll interval while too many bytes lie ready. */
const FULL_MS = 20
/** Shortest time between two claims that find nothing but excluded projects. Each costs a statement, and news may come with every email. */
const OTHERS_MS = 25
/** After this time without an answer an email gives up its slot; at most MAX_LINGERING may wait like this. */
const LINGER_MS = 15_000
const MAX_LINGERING = 100
const POLL_MS = 1_000
const RECOVER_MS = 500
const WAKE_MS = 250
const LET_GO_MS = 3_000
/** How often the other side is asked how much it takes. */
const ALLOWANCE_MS = 120_000
/** Time for the answers to what is handed over when this process stops. An email without its answer may have to be sent twice. */
const LAST_ANSWERS_MS = 15_000
/** Time for claims and builds under way when this process stops. */
const LAST_BUILDS_MS = 2_000
/** Interval at which pauses are shared with other workers, and probes begin. */
const HEALTH_MS = 500
const EXPIRE_MS = 600_000
const CHUNK = 1_000
/**
 * An email fails after this many deaths of the process that held it, the last five with nothing else in hand. Five were too few: the crash
 * test kills workers every second, and an email that had nothing to do with it was held by five of them.
 */
const MAX_CRASHES = 8
/** Time for the emails in hand to end before one goes alone. */
const HANDS_FREE_MS = 10_000
/** Emails sent alone in a row before the others get their turn again. */
const ALONE_AT_MOST = 20

/** Sends what is queued, for as long as it runs. Any number of processes may do so at once. */
export async function startSender(options: Options) {
  const { db, ownDb, url, log, worker, timing = TIMING } = options
  /** Aborted when no more time is left for answers. */
  const over = new AbortController()
  /** Aborted when this process is asked to stop. */
  const stopped = new AbortController()
  const health = createHealth({ db: ownDb, log, ...(timing.pauses ? { timing: timing.pauses } : {}) })
  const sending = createPipeline({ ...options, health, until: over.signal })
  const claim = createClaim(db, worker)
  const pace = createPace(options.ratePerSecond)
  const bells: Record<number, ReturnType<typeof createWakeSignal>> = {
    [PRIORITIES.transactional]: createWakeSignal(),
    [PRIORITIES.bulk]: createWakeSignal(),
  }
  const inTurn = createSemaphore(1)
  /** Everything this process has taken and not yet settled. */
  const holding = new Map<string, ClaimedEmail>()
  const ready: Record<number, ReadyEmail[]> = { [PRIORITIES.transactional]: [], [PRIORITIES.bulk]: [] }
  const beingMade: Record<number, number> = { [PRIORITIES.transactional]: 0, [PRIORITIES.bulk]: 0 }
  const making = new Set<Promise<unknown>>()
  const onTheWire = new Set<ClaimedEmail>()
  const lingering = new Set<ClaimedEmail>()
  /** Marked, or about to be: their outcome is unknown until it is answered. */
  const handedOver = new Set<ClaimedEmail>()
  /** Lanes in which nothing waited when last asked. Only news, or time, is a reason to ask again. */
  const dry = new Set<number>()
  /** Per lane, the last claim that found nothing of any other project than the excluded ones. */
  const noOthers: Record<number, { except: string[]; at: number; news: number; asksAgain?: boolean }> = {}
  let news = 0
  let solitary = false
  let forgetful = true
  let tidiedAt = 0
  let stopping = false

  const resolving = { afterMs: timing.unknownMs, limit: CHUNK }
  const renew = () => transact(ownDb, (tx) => renewLease(tx, worker, timing.leaseMs))
  /** There is room again. */
  const ring = () => {
    for (const [lane, bell] of Object.entries(bells)) if (stopping || !dry.has(Number(lane))) bell.wake()
  }
  /** Something may have been queued, in that lane or anywhere. */
  const tell = (lane?: number) => {
    news++
    if (lane === undefined) dry.clear()
    else dry.delete(lane)
    ring()
  }
  const tellIf = (many: number) => many && tell()
  await renew()
  await health.sync()
  const hint = await listenToQueue(url, tell, log)
  const chores = [
    every(timing.leaseMs / 5, 'say that this sender lives', renew, log),
    every(RECOVER_MS, 'take back mails of the dead', () => recoverFromDeadWorkers(db, worker).then(tellIf), log),
    every(WAKE_MS, 'wake deferred mails', () => transact(db, (tx) => wakeDeferred(tx, CHUNK)).then(tellIf), log),
    every(HEALTH_MS, 'share pauses and probe', shareHealth, log),
    every(EXPIRE_MS, 'end expired emails', () => expireQueued(db, CHUNK, isStopped), log),
    every(POLL_MS, 'send alone what processes died with', sendSuspicious, log),
    every(timing.resolveMs, 'resolve unknown outcomes', () => transact(db, (tx) => resolveUnknown(tx, resolving)).then(tellIf), log),
  ]
  if (options.transport.quota) chores.push(every(ALLOWANCE_MS, 'ask how much may be sent', askAllowance, log))
  const running = begin()

  /** It holds for the account, so the processes that send share it. */
  async function askAllowance() {
    const { perSecond, stopped } = await options.transport.quota!()
    pace.allow(perSecond / Math.max(1, await countWorkers(db)))
    if (stopped) health.pauseProvider(stopped)
  }

  async function shareHealth() {
    const wasPaused = health.isProviderPaused()
    await health.sync()
    await health.tryProvider()
    if (wasPaused && !health.isProviderPaused()) resume()
  }

  async function begin() {
    if (options.transport.quota)
      await askAllowance().catch((err) => log.warn({ err }, 'could not ask how much may be sent; trying without'))
    await Promise.all([run(PRIORITIES.transactional), run(PRIORITIES.bulk)])
  }

  /** Each lane on its own: what cannot wait does not wait until a portion of a campaign is ready. */
  async function run(lane: number) {
    while (!stopping) {
      const taken = await inTurn(() => claimFor(lane)).catch(startOver)
      const made = makeReady(lane, taken).catch(startOver)
      making.add(made)
      made.finally(() => making.delete(made))
      if ((!taken.length || forgetful) && !(await bells[lane]!.wait(POLL_MS))) dry.delete(lane)
    }
    await Promise.all(making)
  }

  function startOver(err: unknown): ClaimedEmail[] {
    // A database that is away is not ours to report: others do, and it comes back.
    log.warn({ err }, 'could not take mails from the queue; trying again')
    forgetful = true
    return []
  }

  /** One at a time: what is not held when it begins, and was not just taken, is not ours. */
  async function claimFor(lane: number): Promise<ClaimedEmail[]> {
    if (stopping || !options.isHeld()) return []
    if (forgetful || performance.now() - tidiedAt > LET_GO_MS) await tidyUp()
    if (solitary || health.isProviderPaused() || dry.has(lane)) return []
    const room = roomFor(lane, inHand(), ready[lane]!.length + beingMade[lane]! > 0)
    if (!room || isKnownToBeEmpty(lane, room)) return []
    const known = news
    const mails = await claim(lane, health.isProbing() ? { ...room, limit: 1 } : room)
    crash('claimed')
    if (!mails.length && room.except.length) noOthers[lane] = { except: room.except, at: performance.now(), news: known }
    else if (!mails.length && known === news) dry.add(lane)
    for (const mail of mails) holding.set(mail.id, mail)
    return mails
  }

  function isStopped() {
    return stopping
  }

  /** Emails that take up capacity. */
  function inHand() {
    return [...holding.values()].filter((mail) => !lingering.has(mail))
  }

  /** A moment ago nothing of other projects waited. News are a reason to ask again, though not at once. */
  function isKnownToBeEmpty(lane: number, { except }: Room) {
    const last = noOthers[lane]
    if (!last?.except.every((projectId) => except.includes(projectId))) return false
    const age = performance.now() - last.at
    if (last.news === news) return age < POLL_MS
    if (age < OTHERS_MS && !last.asksAgain) setTimeout(() => bells[lane]!.wake(), OTHERS_MS - age + 1).unref()
    last.asksAgain = true
    return age < OTHERS_MS
  }

  /** While the next are taken already: what they wait for is the database here, and a processor there. */
  async function makeReady(lane: number, mails: ClaimedEmail[]) {
    beingMade[lane]! += mails.length
    const rows = buildBatches(mails).map((portions) => makePortions(lane, portions))
    const failure = (await Promise.allSettled(rows)).find((each) => each.status === 'rejected')
    if (failure && !stopping) throw failure.reason
  }

  async function makePortions(lane: number, portions: ClaimedEmail[][]) {
    const waiting = new Set(portions.flat())
    try {
      for (const portion of portions) {
        const untilRoom = async () => {
          while (isTooMuchReady(Object.values(ready).flat(), portion) && !stopping) await sleep(FULL_MS)
        }
        await untilRoom()
        if (stopping) return
        const onPrepared = (done: ClaimedEmail[], made: ReadyEmail[]) => {
          for (const mail of done) waiting.delete(mail)
          keepReady(lane, done, made)
        }
        await sending.prepare(portion, { onPrepared, isStopped, untilRoom })
      }
    } finally {
      // After a failure, or when the process stops, these are no longer held and will be given back.
      for (const mail of waiting) holding.delete(mail.id)
      beingMade[lane]! -= waiting.size
    }
  }

  /** What was settled on the way is no longer held. */
  function keepReady(lane: number, done: ClaimedEmail[], made: ReadyEmail[]) {
    const left = new Set(made.map(({ email }) => email))
    for (const mail of done) if (!left.has(mail)) holding.delete(mail.id)
    ready[lane]!.push(...made)
    beingMade[lane]! -= done.length
    pump()
    ring()
  }

  async function tidyUp() {
    await transact(ownDb, (tx) => releaseUnheld(tx, worker, [...holding.keys()]))
    forgetful = false
    tidiedAt = performance.now()
  }

  function pump() {
    if (stopping) return
    for (let next = nextReady(); next && pace.take(resume); next = nextReady()) void send(takeFrom(next))
  }

  function resume() {
    pump()
    ring()
  }

  /** A probe of the provider preferably belongs to a project that nothing is held against. Otherwise projects share the connections. */
  function takeFrom(waiting: ReadyEmail[]) {
    const index = health.isProbing()
      ? waiting.findIndex(({ email }) => !health.hasPausedDomain(email.projectId))
      : nextInTurn(waiting, onTheWire, CONCURRENCY)
    return waiting.splice(Math.max(0, index), 1)[0]!
  }

  function nextReady() {
    if (onTheWire.size >= CONCURRENCY || health.isProviderPaused()) return undefined
    const mayBulk = countBulk(onTheWire) < Math.ceil(CONCURRENCY * BULK_SHARE)
    return [PRIORITIES.transactional, ...(mayBulk ? [PRIORITIES.bulk] : [])].map((lane) => ready[lane]!).find((waiting) => waiting.length)
  }

  async function send(made: ReadyEmail, onHandedOver = () => {}) {
    const { email } = made
    onTheWire.add(email)
    const freeLine = () => {
      clearTimeout(linger)
      onTheWire.delete(email)
      lingering.delete(email)
      pump()
    }
    const linger = setTimeout(() => {
      if (lingering.size >= MAX_LINGERING) return
      onTheWire.delete(email)
      lingering.add(email)
      resume()
    }, LINGER_MS)
    // While the provider is paused only its probe gets here.
    const what = { provider: health.takeProviderProbe(), domain: made.probe }
    let hasReported = false
    const report = (meaning?: Disposition) => {
      hasReported = true
      health.probed({ email, domain: made.domain, disposition: meaning }, what)
    }
    try {
      await sending.transmit(made, {
        mayLeave: () => !stopping,
        handedOver(is) {
          if (!is) return void handedOver.delete(email)
          handedOver.add(email)
          onHandedOver()
        },
        offTheWire(said) {
          // Before the connection is free: the next email must know.
          if (said?.throttled && said.about === 'provider') pace.throttled()
          report(said)
          freeLine()
        },
      })
    } catch (err) {
      // Once this process stops, an email that was not handed over has been given back.
      if (!stopping || handedOver.has(email))
        log.error({ err, emailId: email.id, projectId: email.projectId }, 'could not send or settle a mail')
      forgetful = true
    } finally {
      // A probe that failed on our side: another may follow.
      if (!hasReported) report()
      handedOver.delete(email)
      holding.delete(email.id)
      freeLine()
      ring()
    }
  }

  /** What may have killed processes goes with nothing else in hand. */
  async function sendSuspicious() {
    if (stopping || !options.isHeld() || health.isProviderPaused() || !(await hasSuspects(db))) return
    solitary = true
    try {
      const isFree = () => [...holding.values()].every((mail) => lingering.has(mail) || handedOver.has(mail))
      for (const end = performance.now() + HANDS_FREE_MS; !isFree() && performance.now() < end && !stopping; ) await sleep(20)
      for (let sent = 0; sent < ALONE_AT_MOST && isFree() && !stopping && !health.isProviderPaused(); sent++) {
        const mail = await inTurn(claimAlone)
        if (!mail) return
        await sendAlone(mail)
      }
    } finally {
      solitary = false
      tell()
    }
  }

  async function claimAlone() {
    const mail = await claimSuspect(db, worker)
    if (mail) holding.set(mail.id, mail)
    return mail
  }

  async function sendAlone(mail: ClaimedEmail) {
    if (mail.crashes >= MAX_CRASHES) {
      const error = 'Sending it ended the process, several times.'
      await sending.settle({ ...idOf(mail), state: 'failed', error, code: 'crashed' }).finally(() => holding.delete(mail.id))
      return
    }
    const [made] = await prepareAlone(mail)
    if (!made) return void holding.delete(mail.id)
    // Handed over, it has done no harm. Its answer may take ten minutes, and the others must not wait for that.
    await new Promise<void>((resolve) => {
      stopped.signal.addEventListener('abort', () => resolve(), { once: true })
      void send(made, resolve).finally(resolve)
    })
  }

  async function prepareAlone(mail: ClaimedEmail) {
    const made: ReadyEmail[] = []
    try {
      await sending.prepare([mail], { onPrepared: (_, ready) => made.push(...ready), isStopped })
      return made
    } catch (err) {
      holding.delete(mail.id)
      throw err
    }
  }

  return {
    /** Takes no more, waits for the answers to what is handed over, and gives everything else back at once. */
    async stop() {
      stopping = true
      stopped.abort()
      ring()
      const impatience = setTimeout(() => over.abort(), LAST_ANSWERS_MS)
      // What is still being built after that is given back all the same.
      await Promise.race([running, sleep(LAST_BUILDS_MS)])
      for (const lane of Object.values(ready)) lane.splice(0)
      keepHandedOver()
      await giveUpRest()
      while (handedOver.size && !over.signal.aborted) await bells[PRIORITIES.transactional]!.wait(100)
      holding.clear()
      await giveUpRest()
      clearTimeout(impatience)
      over.abort()
      await Promise.all(chores.map((chore) => chore.stop()))
      await health.release().catch((err) => log.warn({ err }, 'could not release probes'))
      await Promise.all([hint.stop(), sending.close()])
    },
  }

  function keepHandedOver() {
    const ids = new Set([...handedOver].map(({ id }) => id))
    for (const id of holding.keys()) if (!ids.has(id)) holding.delete(id)
  }

  async function giveUpRest() {
    // Without a database there is nobody to tell; others will find out by the lock.
    await tidyUp().catch((err) => log.warn({ err }, 'could not give mails back'))
  }
}

function countBulk(mails: Iterable<ClaimedEmail>) {
  let count = 0
  for (const { priority } of mails) if (priority === PRIORITIES.bulk) count++
  return count
}
