import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startWorkerAgenda } from '../../src/agenda.ts'
import { buildApp } from '../../src/app.ts'
import { connect, many, one, type Pool } from '../../src/db/index.ts'
import { hearsNotifications } from '../../src/db/notifications.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { startWorker } from '../../src/worker.ts'
import { createSterna, joinAsWorker } from '../support/app.ts'
import { CHEAP_PARTS } from '../support/cheap-parts.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { verifyDomains } from '../support/project.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { startProxy } from '../support/servers/proxy.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'
import { times } from '../support/times.ts'

const log = createLog('silent')
const undo: (() => unknown)[] = []
let db: Pool
let sterna: ReturnType<typeof createSterna>
let sink: Awaited<ReturnType<typeof startSmtpServer>>

/** The agenda and the intervals of the product. The connections that listen are gone, and new ones get no answer. */
beforeAll(async () => {
  const database = await cloneDatabase()
  const proxy = await startProxy(database.url)
  sink = await startSmtpServer()
  db = connect({ url: database.url, max: 10, log })
  const config = loadConfig({ SECRET_KEY, DATABASE_URL: database.url, SMTP_URL: sink.url, RATE_LIMIT_PER_MINUTE: '0' })
  const deps = { config, db, secrets: deriveSecrets(SECRET_KEY), log }
  const app = await buildApp(deps, CHEAP_PARTS)
  const presence = await joinAsWorker(deps, database.url)
  const agenda = startWorkerAgenda(db)
  const worker = await startWorker(deps, { url: proxy.url, presence, agenda, withSchedule: false })
  sterna = createSterna(app, db, deps.secrets)
  undo.push(
    database.drop,
    proxy.stop,
    sink.stop,
    () => db.destroy(),
    presence.leave,
    worker.stop,
    agenda.stop,
    () => app.close(),
  )

  await eventually(() => expect(hearsNotifications()).toBe(true))
  proxy.ignore('sterna queue')
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sterna queue' and datname = current_database()
  `.execute(db)
  await eventually(() => expect(hearsNotifications()).toBe(false))
})
afterAll(async () => {
  expect(hearsNotifications()).toBe(false)
  // The worker would wait for replies that never come.
  sink.reset()
  for (const step of undo.toReversed()) await step()
})

async function newSender() {
  const project = await sterna.newProject()
  const domain = `${project.id.slice(-8)}.example`
  await sterna.call('POST', '/domains', { key: project.sk, body: { domain } })
  await verifyDomains(db, project.id)
  const send = async (to: string | string[], more: object = {}) => {
    const body = { to, from: `a@${domain}`, subject: 'Hi', body: '<p>Hi</p>', ...more }
    const answer = await sterna.call('POST', '/v1/send', { key: project.sk, body })
    return answer.body.data.emails[0].email as string
  }
  return { ...project, send }
}

const stateOf = async (id: string) => (await one<{ state: string }>(db)`select state from emails where id = ${id}`).state
const hasLeft = (id: string) => eventually(async () => expect(await stateOf(id)).toBe('sent'))

describe('a worker that hears no notifications', () => {
  test('sends an email from an idle state, and a scheduled one when it is due', async () => {
    const project = await newSender()
    await hasLeft(await project.send('now@example.com'))
    const scheduled = await project.send('later@example.com', { sendAt: new Date(Date.now() + 1_000).toISOString() })
    await hasLeft(scheduled)
    const { early } = await one<{ early: boolean }>(db)`select sent_at < send_at as early from emails where id = ${scheduled}`
    expect(early).toBe(false)
  })

  test('takes over what a dead worker had claimed', async () => {
    const project = await newSender()
    const id = await project.send('claimed@example.com', { sendAt: new Date(Date.now() + 3_600_000).toISOString() })
    const dead = 1
    await sql`insert into senders (worker, lease_until) values (${dead}, now() - interval '1 second')`.execute(db)
    await sql`update emails set state = 'sending', worker = ${dead}, due_at = null, attempts = 1 where id = ${id}`.execute(db)
    await hasLeft(id)
    expect(await many(db)`select crashes from emails where id = ${id}`).toEqual([{ crashes: 1 }])
  })

  test('keeps the share of another owner while one has more emails than fit', async () => {
    const [greedy, other] = [await newSender(), await newSender()]
    for (const page of times(4, (n) => n)) await greedy.send(times(100, (n) => `hang-dot+${page}.${n}@example.com`))
    await eventually(async () => {
      const { waiting } = await one<{ waiting: number }>(db)`
        select count(*)::int as waiting from emails where project_id = ${greedy.id} and state = 'queued'`
      const { onWire } = await one<{ onWire: number }>(db)`
        select count(*)::int as "onWire" from emails where project_id = ${greedy.id} and state = 'sending'`
      expect([waiting > 0, onWire > 0]).toEqual([true, true])
    })
    await hasLeft(await other.send('other@example.com'))
  })
})
