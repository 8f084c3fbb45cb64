import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, many, maybeOne, one, type Pool } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually, until } from '../support/eventually.ts'
import { poolerOptionsOfIni } from '../support/pgbouncer-ini.ts'
import { type Running, spawnNode, startNode } from '../support/process.ts'
import { verifyDomains } from '../support/project.ts'
import { startPooler } from '../support/servers/pooler.ts'
import { startSmtpServer } from '../support/servers/smtp-server.ts'
import { times } from '../support/times.ts'

/** Time limits for a busy machine, as those of the databases of tests: behind a pooler transactions set them themselves. */
const PATIENT =
  'connect_timeout=60&lock_timeout=60000&statement_timeout=60000&query_timeout=90000&idle_in_transaction_session_timeout=90000'
/** The lock that each process holds for itself: `OWN_CLASS` in db/presence.ts. */
const OWN_CLASS = 7_357_004
const undo: (() => unknown)[] = []
let database: Awaited<ReturnType<typeof cloneDatabase>>
let pooler: Awaited<ReturnType<typeof startPooler>>
let sink: Awaited<ReturnType<typeof startSmtpServer>>
let db: Pool
let api: Running
let workers: Running[]
let project: { id: string; secret: string; public: string }

/** An API node and two workers, which share few server connections. The pooler is configured as deploy/pgbouncer.ini says, but without its time limits. */
beforeAll(async () => {
  database = await cloneDatabase()
  pooler = await startPooler(database.url, { ...poolerOptionsOfIni(), connectQuery: 'select 1', size: 6 })
  sink = await startSmtpServer()
  db = connect({ url: database.url, max: 2, log: createLog('silent') })
  undo.push(database.drop, pooler.stop, sink.stop, () => db.destroy())
  const start = async (role: string) => {
    const shared = { DATABASE_URL: `${pooler.url}?${PATIENT}`, DATABASE_DIRECT_URL: database.url, SMTP_URL: sink.url }
    const node = await startNode({ ...shared, ROLE: role, RATE_LIMIT_PER_MINUTE: '0' })
    undo.push(() => node.stop('SIGKILL'))
    return node
  }
  api = await start('api')
  workers = await Promise.all([start('worker'), start('worker')])
  project = await newProject()
})
afterAll(async () => {
  sink.reset()
  for (const step of undo.toReversed()) await step()
})

async function post(path: string, body: object, headers: Record<string, string> = {}) {
  const answer = await fetch(api.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`)
  return answer
}

async function newProject() {
  const signedUp = await post('/auth/signup', { email: 'owner@example.com', password: 'correct horse' })
  const cookie = signedUp.headers.get('set-cookie')!.split(';')[0]!
  const made = (await (await post('/users/@me/projects', { name: 'Behind' }, { cookie })).json()) as typeof project
  await post('/domains', { domain: 'behind.example' }, { authorization: `Bearer ${made.secret}` })
  await verifyDomains(db, made.id)
  return made
}

const withKey = () => ({ authorization: `Bearer ${project.secret}` })
const send = async (to: string[]) => {
  const answer = await post('/v1/send', { to, from: 'news@behind.example', subject: 'Hi', body: '<p>Hi</p>' }, withKey())
  const { data } = (await answer.json()) as { data: { emails: { email: string }[] } }
  return data.emails.map(({ email }) => email)
}

/** The process ids of PostgreSQL that hold the own lock of a node, with the name of the node. */
const present = () =>
  many<{ pid: number; key: number; name: string }>(db)`
    select l.pid, l.objid::bigint::int as key, a.application_name as name from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.classid = ${OWN_CLASS} and l.granted and a.datname = current_database()`
const keyOf = async ({ child }: Running) => (await present()).find(({ name }) => name.endsWith(`:${child.pid}`))!.key

test('the configuration of PgBouncer in deploy/ sets the time limits that a node has without a pooler', async ({
  onTestFinished: undo,
}) => {
  const limited = await startPooler(database.url, poolerOptionsOfIni())
  undo(limited.stop)
  const client = new pg.Client({ connectionString: limited.url })
  await client.connect()
  undo(() => client.end())
  const { rows } = await client.query(`
    select name, setting from pg_settings
    where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'client_connection_check_interval')`)
  expect(Object.fromEntries(rows.map(({ name, setting }) => [name, Number(setting)]))).toEqual({
    statement_timeout: 5_000,
    lock_timeout: 2_000,
    idle_in_transaction_session_timeout: 10_000,
    client_connection_check_interval: 1_000,
  })
})

describe('an installation behind a pooler in transaction mode', () => {
  test('holds the lock of each node on a connection of its own, past the pooler', async () => {
    const locks = await present()
    expect(new Set(locks.map(({ pid }) => pid)).size).toBe(3)
    expect(locks.filter(({ pid }) => pooler.pids().includes(pid))).toEqual([])
  })

  test('listens past the pooler', async () => {
    const listening = () => many<{ pid: number }>(db)`
      select pid from pg_stat_activity where datname = current_database() and query ilike 'listen %'`
    await eventually(async () => expect((await listening()).length).toBeGreaterThanOrEqual(2))
    expect((await listening()).filter(({ pid }) => pooler.pids().includes(pid))).toEqual([])
  })

  test('answers requests over the pooler, and sends while no living worker counts as dead', async () => {
    const ids = (await Promise.all(times(20, (n) => send(times(5, (m) => `${m % 2 ? 'ok' : 'd100'}+${n}.${m}@example.com`))))).flat()
    const ended = () => many<{ state: string; crashes: number }>(db)`select distinct state, crashes from emails where id = any(${ids})`
    await eventually(async () => expect(await ended()).toEqual([{ state: 'sent', crashes: 0 }]))
    expect(sink.messages.map(({ id }) => id).sort()).toEqual([...ids].sort())
    expect(pooler.pids().length).toBeGreaterThan(1)
  })

  test('does jobs', async () => {
    const form = new FormData()
    form.set('file', new Blob(['email\nimported@example.com'], { type: 'text/csv' }), 'contacts.csv')
    const queued = await fetch(`${api.url}/contacts/import`, { method: 'POST', headers: withKey(), body: form })
    const { jobId } = (await queued.json()) as { jobId: string }
    await eventually(async () => {
      const answer = await fetch(`${api.url}/contacts/import/${jobId}`, { headers: withKey() })
      expect(await answer.json()).toMatchObject({ state: 'completed' })
    })
  })

  test('finds a worker that is killed, and leaves no lock of it', async () => {
    const ids = await send(times(40, (n) => `hang-dot+${n}@example.com`))
    // One worker may have claimed all of them.
    const holder = async () =>
      (await maybeOne<{ key: number }>(db)`select worker as key from emails where worker is not null and id = any(${ids}) limit 1`)?.key
    const key = await until('a worker holds some', holder)
    const keys = await Promise.all(workers.map(keyOf))
    const victim = workers[keys.indexOf(key)]!
    const held = async () =>
      (await one<{ n: number }>(db)`select count(*)::int as n from emails where worker = ${key} and id = any(${ids})`).n
    await victim.stop('SIGKILL')
    await eventually(async () => expect(await held()).toBe(0))
    expect((await present()).map((lock) => lock.key)).not.toContain(key)
  })

  test('does not start without the direct URL, and names it', async () => {
    const node = await spawnNode({ DATABASE_URL: pooler.url, ROLE: 'api' })
    expect(await node.exited).toBe(1)
    expect(node.output()).toContain('DATABASE_DIRECT_URL')
    expect(node.output()).not.toMatch(/^\s+at /m)
  })
})
