import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { connect, many, transact } from '../../src/db/index.ts'
import { recoverFromDeadWorkers } from '../../src/delivery/outbox/claim.ts'
import { enqueue } from '../../src/jobs/enqueue.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { checkSecret } from '../../src/nodes/instance.ts'
import { announce, type Presence } from '../../src/nodes/presence.ts'
import { startWorker } from '../../src/worker.ts'
import { createSterna, joinAsWorker } from '../support/app.ts'
import { CHEAP_PARTS } from '../support/cheap-parts.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { startProxy } from '../support/servers/proxy.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'

const log = createLog('silent')
/** A lost connection is noticed after a tenth of a second and two seconds, instead of five. */
const TIMING = { heartbeatMs: 100, deadlineMs: 2_000 }

type Undo = (step: () => Promise<void>) => void

/** An installation of its own, whose worker reaches the database for its liveness lock through a proxy, and for all else directly. */
async function newStage(undo: Undo) {
  const database = await cloneDatabase()
  const proxy = await startProxy(database.url)
  const db = connect({ url: database.url, max: 10, log })
  undo(database.drop)
  undo(proxy.stop)
  undo(() => db.destroy())

  async function startWorkerBehindProxy(env: Record<string, string> = {}, timing?: typeof TIMING) {
    const deps = { config: loadConfig({ SECRET_KEY, DATABASE_URL: database.url, ...env }), db, secrets: deriveSecrets(SECRET_KEY), log }
    const app = await buildApp(deps, CHEAP_PARTS)
    const presence = await joinAsWorker(deps, proxy.url, timing && { timing })
    const worker = await startWorker(deps, { url: database.url, presence, withSchedule: false })
    undo(presence.leave)
    undo(worker.stop)
    undo(() => app.close())
    return { presence, sterna: createSterna(app, db, deps.secrets) }
  }

  async function newSender({ newProject, call }: ReturnType<typeof createSterna>) {
    const { id, sk } = await newProject()
    await call('POST', '/domains', { key: sk, body: { domain: 'shop.example' } })
    await sql`update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity'`.execute(db)
    const send = async (to: string[]) =>
      call('POST', '/v1/send', { key: sk, body: { to, from: 'news@shop.example', subject: 'Hi', body: 'Hi' } })
    return { id, send }
  }

  const holders = (presence: Presence) =>
    many(
      db,
      sql<{ pid: number }>`select pid from pg_locks where locktype = 'advisory' and objid = ${presence.key} and granted
        and database = (select oid from pg_database where datname = current_database())`,
    )

  /** What PostgreSQL does once its keep-alives got no answer. The worker cannot know. */
  async function loseLock(presence: Presence) {
    proxy.drop()
    for (const { pid } of await holders(presence)) await sql`select pg_terminate_backend(${pid})`.execute(db)
    await eventually(async () => expect(await holders(presence)).toEqual([]))
  }

  return { database, proxy, db, startWorkerBehindProxy, newSender, holders, loseLock }
}

// They mostly wait.
describe.concurrent('a worker whose liveness connection loses every packet', () => {
  test('claims no email and no job until it has its lock back, and then continues', async ({ onTestFinished: undo }) => {
    const { proxy, db, startWorkerBehindProxy, newSender, holders, loseLock } = await newStage(undo)
    const { presence, sterna } = await startWorkerBehindProxy({}, TIMING)
    const { id, send } = await newSender(sterna)
    await loseLock(presence)
    await eventually(() => expect(presence.isHeld()).toBe(false))
    const emails = () => many(db, sql<{ state: string; attempts: number; crashes: number }>`select state, attempts, crashes from emails`)
    const jobs = () =>
      many(
        db,
        sql`select locked_by as "lockedBy" from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
        where t.identifier = 'contacts.count-fields'`,
      )
    // Some turns of the engine's watch, after which it takes no more.
    await sleep(2_000)
    expect((await send(['a@example.com'])).status).toBe(200)
    await transact(db, (tx) => enqueue(tx, 'contacts.count-fields', { projectId: id }))
    // Longer than the sender polls; both are also notified.
    await sleep(1_200)
    expect(await emails()).toEqual([{ state: 'queued', attempts: 0, crashes: 0 }])
    expect(await jobs()).toEqual([{ lockedBy: null }])

    proxy.heal()
    await eventually(() => expect(presence.isHeld()).toBe(true))
    expect(await holders(presence)).toHaveLength(1)
    await eventually(async () => expect(await emails()).toEqual([{ state: 'sent', attempts: 1, crashes: 0 }]))
    await eventually(async () => expect(await jobs()).toEqual([]))
  })

  test('gets its lock back although the server still holds the lost connection', async ({ onTestFinished: undo }) => {
    const { proxy, holders } = await newStage(undo)
    const presence = await announce({ url: proxy.url, kind: 'worker', log, timing: TIMING })
    undo(presence.leave)
    const [before] = await holders(presence)
    proxy.drop()
    await eventually(() => expect(presence.isHeld()).toBe(false))
    expect(await holders(presence)).toEqual([before])
    proxy.heal()
    await eventually(() => expect(presence.isHeld()).toBe(true))
    const after = await holders(presence)
    expect(after).toHaveLength(1)
    expect(after).not.toEqual([before])
  })

  test('has its emails recovered once, not repeatedly', async ({ onTestFinished: undo }) => {
    const { database, proxy, db, startWorkerBehindProxy, newSender, loseLock } = await newStage(undo)
    // It greets nobody, so that the emails stay in the worker's hands.
    const sink = await startSmtpServer({ silent: true })
    undo(sink.stop)
    // With the usual timing: it takes longer to notice the loss than to renew its lease.
    const { presence, sterna } = await startWorkerBehindProxy({ SMTP_URL: sink.url })
    const other = await announce({ url: database.url, kind: 'worker', log })
    undo(other.leave)
    const { send } = await newSender(sterna)
    await send(Array.from({ length: 5 }, (_, n) => `c${n}@example.com`))
    const states = () =>
      many(
        db,
        sql<{ state: string; crashes: number; count: number }>`
        select state, crashes, count(*)::int as count from emails group by 1, 2 order by 1, 2`,
      )
    await eventually(async () => expect(await states()).toEqual([{ state: 'sending', crashes: 0, count: 5 }]))

    await loseLock(presence)
    await eventually(async () => expect(await recoverFromDeadWorkers(db, other.key)).toBe(5))
    expect(await states()).toEqual([{ state: 'queued', crashes: 1, count: 5 }])
    // It renews its lease before it knows of the loss. Without one it can claim nothing.
    const leases = () => many(db, sql`select 1 from senders where worker = ${presence.key}`)
    for (; presence.isHeld(); await sleep(20)) expect(await leases()).toEqual([])
    const recovering = setInterval(() => void recoverFromDeadWorkers(db, other.key).catch(() => {}), 100)
    undo(async () => clearInterval(recovering))
    expect(await states()).toEqual([{ state: 'queued', crashes: 1, count: 5 }])

    proxy.heal()
    await eventually(async () => expect(await states()).toEqual([{ state: 'sending', crashes: 1, count: 5 }]))
    expect(presence.isHeld()).toBe(true)
    // As long as it could take to be taken back again.
    await sleep(1_000)
    expect(await states()).toEqual([{ state: 'sending', crashes: 1, count: 5 }])
  })

  test('stays without its lock when the transport of the installation changes meanwhile', async ({ onTestFinished: undo }) => {
    const { proxy, db, holders, loseLock } = await newStage(undo)
    const setTransport = (transport: string) => sql`update instance set transport = ${transport}`.execute(db)
    await checkSecret(db, deriveSecrets(SECRET_KEY))
    await setTransport('smtp')
    const presence = await announce({ url: proxy.url, kind: 'worker', transport: 'smtp', log, timing: TIMING })
    undo(presence.leave)
    await loseLock(presence)
    await eventually(() => expect(presence.isHeld()).toBe(false))
    await setTransport('ses')
    proxy.heal()
    // The second connection after that means that the first was given up.
    const tried = proxy.connections()
    await eventually(() => expect(proxy.connections()).toBeGreaterThanOrEqual(tried + 2))
    // It holds the lock for a moment on each attempt, while it reads the transport.
    await eventually(async () => expect(await holders(presence)).toEqual([]))
    expect(presence.isHeld()).toBe(false)
    await setTransport('smtp')
    await eventually(() => expect(presence.isHeld()).toBe(true))
  })
})
