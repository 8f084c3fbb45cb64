import pg from 'pg'
import { type Pool, transact } from '../db/index.ts'
import type { Log } from '../lib/log.ts'
import { every } from '../lib/recurring.ts'
import type { Secrets } from '../lib/secrets.ts'
import { createClaim, giveBack, isSuspicious, recover, renewLease, type Taken, wakeDeferred } from './outbox.ts'
import { createPace } from './pace.ts'
import { createSending, idOf, type Ready, type Signal } from './sending.ts'
import type { Transport } from './transport/transport.ts'
import { resolveUnknown } from './unknown.ts'

type Options = {
  db: Pool
  url: string
  secrets: Secrets
  log: Log
  worker: number
  transport: Transport
  publicUrl: string
  signs: boolean
  ratePerSecond: number | undefined
}

/** Mails on the wire at once. */
const CONCURRENCY = 16
/** Taken and made ready while others are on the wire. */
const AHEAD = 32
/** Of what is taken at once, so much at most for campaigns: the rest stays free for what cannot wait. */
const BULK_SHARE = 0.7
const POLL_MS = 1_000
const LEASE_MS = 3_000
const RECOVER_MS = 500
const WAKE_MS = 250
const RESOLVE_MS = 5_000
const CHUNK = 1_000
/** Given up after so many deaths of the process that had it, the last ones with nothing else in hand. */
const MAX_CRASHES = 5
export const QUEUED = 'sterna_emails'

/** Sends what is queued, for as long as it runs. Any number of processes may do so at once. */
export async function startSender(options: Options) {
  const { db, url, log, worker } = options
  const sending = createSending(options)
  const claim = createClaim(db, worker)
  const pace = createPace(options.ratePerSecond)
  const ready: Ready[] = []
  const alone: Taken[] = []
  let onTheWire = 0
  let stopping = false
  let wake: (() => void) | undefined

  const hint = await listenForWork(url, () => wake?.(), log)
  const chores = [
    every(LEASE_MS, 'say that this sender lives', () => transact(db, (tx) => renewLease(tx, worker)), log),
    every(RECOVER_MS, 'take back mails of the dead', () => recover(db, worker), log),
    every(WAKE_MS, 'wake deferred mails', () => transact(db, (tx) => wakeDeferred(tx, CHUNK)).then((woken) => woken && wake?.()), log),
    every(RESOLVE_MS, 'resolve unknown outcomes', () => transact(db, (tx) => resolveUnknown(tx, CHUNK)), log),
  ]
  const running = run()

  async function run() {
    while (!stopping) {
      const room = CONCURRENCY + AHEAD - ready.length - onTheWire
      const taken = room > 0 && !alone.length && !pace.isPaused() ? await take(room) : 0
      pump()
      if (!taken) await idle()
    }
  }

  /** Returns how many it took. A database that is away is not ours to report: others do, and it comes back. */
  async function take(room: number) {
    let mails: Taken[] = []
    try {
      mails = await claim(room, { bulk: Math.ceil(room * BULK_SHARE) })
      ready.push(...(await sending.prepare(mails.filter((mail) => !isSuspicious(mail)))))
      alone.push(...mails.filter(isSuspicious))
      return mails.length
    } catch (err) {
      log.warn({ err }, 'could not take mails from the queue; trying again')
      await untilDone(() => transact(db, (tx) => giveBack(tx, worker, mails.map(idOf))))
      return 0
    }
  }

  /** What this process holds must not stay with it: tried until the database is back, or the process ends. */
  async function untilDone(work: () => Promise<unknown>) {
    for (let done = false; !done; ) {
      done = await work().then(
        () => true,
        () => stopping,
      )
      if (!done) await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }

  /** Until there is work, or room for it. */
  const idle = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, POLL_MS)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  function pump() {
    while (!stopping && onTheWire < CONCURRENCY && ready.length && pace.take(() => wake?.())) launch(ready.shift()!)
    if (!ready.length && !onTheWire && alone.length) void sendAlone(alone.shift()!)
  }

  function launch(mail: Ready) {
    onTheWire++
    sending
      .transmit(mail, () => !stopping)
      .then(heed, (err) => log.error({ err, emailId: mail.mail.id }, 'could not settle a mail; others will take it for unknown'))
      .finally(() => {
        onTheWire--
        pump()
        wake?.()
      })
  }

  function heed(signal: Signal) {
    if (signal.is === 'paused') log.error({ domain: signal.domain, reason: signal.reason }, 'sending is refused; paused')
    pace.heed(signal)
  }

  /** What may have killed processes goes with nothing else in hand. */
  async function sendAlone(mail: Taken) {
    onTheWire++
    try {
      if (mail.crashes >= MAX_CRASHES) {
        await sending.settle({ ...idOf(mail), state: 'failed', error: 'Sending it ended the process, several times.' })
      } else for (const each of await sending.prepare([mail])) await sending.transmit(each, () => !stopping).then(heed)
    } catch (err) {
      log.error({ err, emailId: mail.id }, 'could not send a mail that was taken alone')
    } finally {
      onTheWire--
      pump()
      wake?.()
    }
  }

  return {
    /** Takes no more, lets what is handed over come to its end, and gives the rest back. */
    async stop() {
      stopping = true
      wake?.()
      await running
      const unsent = [...ready.splice(0).map(({ mail }) => mail), ...alone.splice(0)]
      await transact(db, (tx) => giveBack(tx, worker, unsent.map(idOf)))
      while (onTheWire) await new Promise<void>((resolve) => (wake = resolve))
      await sending.drain()
      await Promise.all(chores.map((chore) => chore.stop()))
      await hint.stop()
      await options.transport.close()
    },
  }
}

/** A hint that something was queued, so that nobody waits for the next poll. Losing it costs a second. */
async function listenForWork(url: string, onWork: () => void, log: Log) {
  let client: pg.Client | undefined
  const listening = every(
    POLL_MS,
    'listen for queued mails',
    async () => {
      if (client) return
      const joining = new pg.Client({ connectionString: url, application_name: 'sterna queue', connectionTimeoutMillis: 3_000 })
      joining.on('error', () => {})
      joining.once('end', () => (client = undefined))
      joining.on('notification', onWork)
      await joining.connect()
      await joining.query(`listen ${QUEUED}`)
      client = joining
    },
    log,
  )
  return {
    async stop() {
      await listening.stop()
      await client?.end().catch(() => {})
    },
  }
}
