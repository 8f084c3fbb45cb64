import { randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, many, maybeOne, type Pool, transact } from '../../src/db/index.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { readSendingHold, resumeSending } from '../../src/nodes/sending-hold.ts'
import { startApp } from '../support/app.ts'
import { eventually, until } from '../support/eventually.ts'
import { verifyDomains } from '../support/project.ts'
import { type ReplicatedPostgres, startReplicatedPostgres } from '../support/servers/replicated-postgres.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'
import { times } from '../support/times.ts'

/** A busy machine takes longer than the product allows. */
const PATIENT = '?connect_timeout=5&lock_timeout=30000&statement_timeout=30000&query_timeout=60000'
const FROM = 'news@shop.example'

let servers: ReplicatedPostgres
let sink: Awaited<ReturnType<typeof startSmtpServer>>
/** Past the nodes, by the address that leads to the primary. */
let db: Pool
let url: string
let nodes: Awaited<ReturnType<typeof startApp>>[] = []
let sk: string
const logged: Record<string, unknown>[] = []

beforeAll(async () => {
  servers = await startReplicatedPostgres()
  sink = await startSmtpServer()
  url = servers.url + PATIENT
  db = connect({ url, max: 2, log: createLog('silent') })
  await migrate(url)
  await startNodes()
  const project = await nodes[0]!.sterna.newProject()
  sk = project.sk
  await project.call('POST', '/domains', { domain: 'shop.example' })
  await verifyDomains(db, project.id)
})
afterAll(async () => {
  await stopNodes()
  await db?.destroy()
  await sink?.stop()
  await servers?.remove()
})

/** Two nodes, each of them API and worker. */
async function startNodes() {
  const log = createLog('info', new Writable({ write: (line, _, done) => void done(void logged.push(JSON.parse(line))) }))
  const env = { SMTP_URL: sink.url, RATE_LIMIT_PER_MINUTE: '0' }
  // The first one stores the transport.
  for (let n = 0; n < 2; n++) nodes.push(await startApp(url, { env, log }))
}
async function stopNodes() {
  await Promise.all(nodes.map((node) => node.close()))
  nodes = []
}

/** As a client that repeats its request until it knows that it was accepted. */
async function send(to: string, more: object = {}) {
  const headers = { 'idempotency-key': randomUUID() }
  const body = { to, from: FROM, subject: 'Hi', body: '<p>Hi</p>', ...more }
  return until(`${to} is accepted`, async () => {
    const { status } = await nodes[Math.floor(Math.random() * nodes.length)]!.sterna.call('POST', '/v1/send', { key: sk, body, headers })
    return status === 200 || status === 409
  })
}

const copies = (to: string) => sink.messages.filter(({ recipients }) => recipients.includes(to)).length
const addresses = (name: string, count: number) => times(count, (n) => `${name}${n}@example.com`)
const haveLeftOnce = (to: string[]) => eventually(() => expect(to.map(copies)).toEqual(to.map(() => 1)))
const statesOf = async (to: string[]) =>
  (await many<{ state: string }>(db)`select state from emails where to_address = any(${to}::text[]) order by state`).map(
    ({ state }) => state,
  )
const lines = (text: string) => logged.filter(({ msg }) => String(msg).includes(text))

/** Each worker has committed its counter after this moment, and knows it. */
async function counted() {
  const counters = () => many<{ worker: number; counter: string }>(db)`select worker, counter from senders order by 1`
  const before = await counters()
  expect(before).toHaveLength(nodes.length)
  await until('all have counted on', async () =>
    (await counters()).every(({ counter }, n) => Number(counter) > Number(before[n]!.counter) + 1),
  )
}

/** Sends these while something happens in the middle of it. */
async function sendDuring(to: string[], happen: () => Promise<void>) {
  const waiting = [...to]
  let happening: Promise<void> | undefined
  await Promise.all(
    times(4, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        if (waiting.length < to.length / 2) happening ??= happen()
        await send(next)
      }
    }),
  )
  await happening
}

/** Scheduled emails become due now. */
const makeDue = () => sql`update emails set due_at = now() where state = 'deferred'`.execute(db)

test('the primary is killed under load, and commits wait for its standby: nothing is lost, twice or held, also after a restart of all nodes', async () => {
  const to = addresses('sync', 60)
  await sendDuring(to, async () => {
    await servers.killPrimary()
    await servers.promote()
  })
  await haveLeftOnce(to)
  expect(await readSendingHold(db)).toBeUndefined()
  expect((await nodes[0]!.sterna.call('GET', '/ready')).body.sendingHeld).toBeNull()
  await eventually(() => expect(lines('another database server took over')).toHaveLength(2))

  await stopNodes()
  // Workers that stop in order leave nothing that could be missing.
  expect(await many(db)`select 1 from senders`).toEqual([])
  await startNodes()
  await send('restarted@example.com')
  await haveLeftOnce(['restarted@example.com', ...to])
  expect(await readSendingHold(db)).toBeUndefined()
})

test('a planned switchover loses, repeats and holds nothing, although commits do not wait', async () => {
  await servers.addStandby()
  const to = addresses('planned', 40)
  await sendDuring(to, async () => {
    await servers.stopPrimary()
    await servers.promote()
  })
  await haveLeftOnce(to)
  expect(await readSendingHold(db)).toBeUndefined()
})

test('all nodes are stopped in order during a switchover: nothing is held', async () => {
  await servers.addStandby()
  await stopNodes()
  await servers.stopPrimary()
  await servers.promote()
  await startNodes()
  await send('stopped@example.com')
  await haveLeftOnce(['stopped@example.com'])
  expect(await readSendingHold(db)).toBeUndefined()
})

test('a standby that lags takes over: what workers know is not sent again, older emails wait until all have repeated it, and later ones leave', async () => {
  await servers.addStandby()
  const sendAt = new Date(Date.now() + 3_600_000).toISOString()
  const [old, older] = [addresses('old', 10), addresses('older', 5)]
  for (const each of old) await send(each, { sendAt })
  await counted()
  await servers.pauseReplication()
  // From here on the standby gets nothing: that these were sent, and that those were accepted.
  await makeDue()
  await haveLeftOnce(old)
  const lost = addresses('lost', 3)
  for (const each of lost) await send(each)
  await haveLeftOnce(lost)
  await counted()
  await servers.killPrimary()
  await servers.promote()

  const hold = await until('sending is held in part', () => readSendingHold(db).catch(() => undefined))
  expect(hold).toMatchObject({ kind: 'partial', untilResumed: false })
  // What the standby had as scheduled is sent, as the workers know.
  await eventually(async () => expect(await statesOf(old)).toEqual(old.map(() => 'sent')))
  await eventually(() => expect(lines('a standby took over that lacks commits')).toHaveLength(2))
  const told = lines('a standby took over that lacks commits')
  expect(told.reduce((sum, { missing }) => sum + Number(missing), 0)).toBe(lost.length)

  // Recorded before, as its id says.
  for (const each of older) await send(each, { sendAt })
  await sql`
    update instance set sending_waits_up_to = (select id from emails where to_address = any(${older}::text[]) order by id desc limit 1)
  `.execute(db)
  await makeDue()
  await send('later@example.com')
  await haveLeftOnce(['later@example.com'])
  expect(older.slice(0, -1).map(copies)).toEqual([0, 0, 0, 0])
  expect((await nodes[0]!.sterna.call('GET', '/ready')).body.sendingHeld).toBe('partial')

  // As if all had been back for a while.
  await sql`update instance set sending_waits_before = sending_waits_before - interval '1 minute'`.execute(db)
  await until('the hold ends by itself', async () => !(await readSendingHold(db)))
  await haveLeftOnce([...old, ...lost, ...older, 'later@example.com'])
})

test('a standby takes over and no worker is left: what is older waits until a person ends it', async () => {
  await servers.addStandby()
  await send('before@example.com', { sendAt: new Date(Date.now() + 3_600_000).toISOString() })
  await counted()
  // Rows of workers that were killed with the server.
  await sql`insert into senders (worker, lease_until, counter, timeline) select -1, now(), 7, timeline from senders limit 1`.execute(db)
  await stopNodes()
  await servers.stopPrimary()
  await servers.promote()
  await startNodes()
  await until('their leases are extended', () => maybeOne(db)`select 1 from senders where worker = -1 and lease_until > now()`)
  expect(await readSendingHold(db)).toBeUndefined()
  await sql`update senders set lease_until = now() - interval '1 s' where worker = -1`.execute(db)
  expect(await until('sending is held', () => readSendingHold(db))).toMatchObject({ kind: 'partial', untilResumed: true })
  await makeDue()
  await send('after@example.com')
  await haveLeftOnce(['after@example.com'])
  expect(copies('before@example.com')).toBe(0)
  expect(await transact(db, resumeSending)).toBe(true)
  await haveLeftOnce(['before@example.com'])
})
