import { Writable } from 'node:stream'
import { sql } from 'kysely'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { connect, many, type Pool } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { startApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'

const PATIENCE = { interval: 50 }
const MAIL_FROM = 'Post office <post@office.example>'

let sink: Awaited<ReturnType<typeof startSmtpServer>>
let database: Awaited<ReturnType<typeof cloneDatabase>>
let db: Pool
const started: { close(): Promise<void> }[] = []

beforeAll(async () => {
  sink = await startSmtpServer()
})
afterAll(() => sink.stop())
beforeEach(async () => {
  database = await cloneDatabase()
  db = connect({ url: database.url, max: 2, log: createLog('silent') })
})
afterEach(async () => {
  for (const app of started.splice(0)) await app.close()
  await db.destroy()
  await database.drop()
})

async function start(env: Record<string, string>, log = createLog('silent')) {
  const app = await startApp(database.url, { env, log })
  started.push(app)
  return app
}
const stop = () => Promise.all(started.splice(0).map((app) => app.close()))

const states = async (recipient: string) =>
  (await many(db, sql<{ state: string }>`select state from account_mails where recipient = ${recipient} order by id`)).map(
    ({ state }) => state,
  )
const receivedBy = (recipient: string) => sink.messages.filter(({ recipients }) => recipients.includes(recipient)).length

test('without MAIL_FROM there is a warning, and stored account emails are sent once MAIL_FROM is set, while their links are valid', async () => {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, new Writable({ write: (chunk, _, done) => void done(void lines.push(String(chunk))) }))
  const { sterna } = await start({ SMTP_URL: sink.url }, log as never)
  expect(lines.join('')).toContain('MAIL_FROM is not set')

  const [fresh, late, twice] = ['fresh@example.com', 'late@example.com', 'twice@example.com']
  for (const email of [fresh, late, twice]) await sterna.newPerson({ email })
  await sql`update account_mails set link_expires_at = now() - interval '1 second' where recipient = ${late}`.execute(db)
  for (let n = 0; n < 2; n++) await sterna.call('POST', '/auth/request-password-reset', { body: { email: twice } })
  expect([await states(fresh), await states(late), await states(twice)]).toEqual([['kept'], ['kept'], ['kept', 'kept', 'kept']])
  await stop()

  await start({ SMTP_URL: sink.url, MAIL_FROM })
  await expect.poll(() => states(fresh), PATIENCE).toEqual(['sent'])
  // Only the link of the later reset is valid.
  await expect.poll(() => states(twice), PATIENCE).toEqual(['sent', 'kept', 'sent'])
  expect(await states(late)).toEqual(['kept'])
  expect([fresh, late, twice].map(receivedBy)).toEqual([1, 0, 2])
})

test('a worker with MAIL_FROM sends the account emails of a node without it', async () => {
  const { sterna } = await start({ SMTP_URL: sink.url })
  await start({ SMTP_URL: sink.url, MAIL_FROM })
  await sterna.newPerson({ email: 'api@example.com' })
  await expect.poll(() => states('api@example.com'), PATIENCE).toEqual(['sent'])
})

test('an invitation is sent as long as it is valid, for seven days', async () => {
  const { sterna } = await start({ SMTP_URL: sink.url })
  const { id, owner } = await sterna.newProject()
  await owner.call('POST', `/projects/${id}/members`, { body: { email: 'guest@example.com', role: 'MEMBER' } })
  await sql`
    update account_mails set created_at = created_at - interval '3 days', link_expires_at = link_expires_at - interval '3 days'
  `.execute(db)
  await stop()
  await start({ SMTP_URL: sink.url, MAIL_FROM })
  await expect.poll(() => states('guest@example.com'), PATIENCE).toEqual(['sent'])
  expect(await states(owner.email)).toEqual(['kept'])
})

test('invitations to two projects of the same name are both sent once MAIL_FROM is set', async () => {
  const { sterna } = await start({ SMTP_URL: sink.url })
  const email = 'twice-invited@example.com'
  for (let n = 0; n < 2; n++) {
    const { id, owner } = await sterna.newProject()
    await sql`update projects set name = 'Shop' where id = ${id}`.execute(db)
    expect((await owner.call('POST', `/projects/${id}/members`, { body: { email, role: 'MEMBER' } })).status).toBe(201)
  }
  await stop()
  await start({ SMTP_URL: sink.url, MAIL_FROM })
  await expect.poll(() => states(email), PATIENCE).toEqual(['sent', 'sent'])
  expect(receivedBy(email)).toBe(2)
})
