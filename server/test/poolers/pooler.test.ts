import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startPooler } from '../support/servers/pooler.ts'

let database: Awaited<ReturnType<typeof cloneDatabase>>
beforeAll(async () => {
  database = await cloneDatabase()
})
afterAll(() => database.drop())

type Undo = (step: () => Promise<void>) => void

async function newPooler(undo: Undo, options: Parameters<typeof startPooler>[1] = {}) {
  const pooler = await startPooler(database.url, options)
  undo(pooler.stop)
  const connect = async (config: pg.ClientConfig = {}) => {
    const client = new pg.Client({ connectionString: pooler.url, ...config })
    client.on('error', () => {})
    await client.connect()
    undo(() => client.end())
    return client
  }
  return { ...pooler, connect }
}

const scalarOf = async (client: pg.Client, text: string, values: unknown[] = []) =>
  Object.values((await client.query(text, values)).rows[0])[0]
const pidOf = (client: pg.Client) => scalarOf(client, 'select pg_backend_pid()')

// What the product is tested with must do what PgBouncer does.
describe('the pooler of the tests, in transaction mode', () => {
  test('gives each transaction a server connection, and a whole transaction one', async ({ onTestFinished: undo }) => {
    const { connect, pids } = await newPooler(undo, { size: 2 })
    const [one, other] = [await connect(), await connect()]
    await one.query('begin')
    const held = await pidOf(one)
    const free = await pidOf(other)
    expect([await pidOf(one), await pidOf(other)]).toEqual([held, free])
    await one.query('commit')
    expect(new Set([await pidOf(one), await pidOf(one)])).toEqual(new Set(pids()))
    expect(pids()).not.toContain((one as unknown as { processID: number }).processID)
  })

  test('lets a client wait while all server connections are in transactions', async ({ onTestFinished: undo }) => {
    const { connect } = await newPooler(undo, { size: 1 })
    const [one, other] = [await connect(), await connect()]
    await one.query('begin')
    const answers: string[] = []
    const waiting = other.query('select 1').then(() => answers.push('other'))
    await one.query('select 1')
    answers.push('one')
    await Promise.all([one.query('commit'), waiting])
    expect(answers).toEqual(['one', 'other'])
  })

  test('keeps settings and locks on the server connection, not with the client', async ({ onTestFinished: undo }) => {
    const { connect } = await newPooler(undo, { size: 1 })
    const [one, other] = [await connect(), await connect()]
    await one.query(`set work_mem = '7MB'`)
    expect(await scalarOf(other, 'show work_mem')).toBe('7MB')
    await one.query('select pg_advisory_lock(1, 2)')
    expect(await scalarOf(other, 'select pg_try_advisory_lock(1, 2)')).toBe(true)
  })

  test('loses notifications for a client that has no server connection', async ({ onTestFinished: undo }) => {
    const { connect } = await newPooler(undo)
    const [listener, other] = [await connect(), await connect()]
    const heard: unknown[] = []
    listener.on('notification', ({ payload }) => heard.push(payload))
    await listener.query('listen topic')
    for (let n = 0; n < 6; n++) await other.query(`select pg_notify('topic', 'news')`)
    expect(heard).toEqual([])
  })

  test('finds named statements on every server connection, also after an error', async ({ onTestFinished: undo }) => {
    const { connect } = await newPooler(undo, { size: 3 })
    const clients = [await connect(), await connect()]
    const ask = (client: pg.Client, n: number) => client.query({ name: 'double', text: 'select 2 * $1::int as n', values: [n] })
    for (let n = 0; n < 12; n++) expect((await ask(clients[n % 2]!, n)).rows).toEqual([{ n: 2 * n }])
    for (const client of clients) await expect(ask(client, 2 ** 31 - 1)).rejects.toThrow('integer out of range')
    // Another text under the same name, by another client.
    const third = await connect()
    expect((await third.query({ name: 'double', text: 'select $1::text as t', values: ['a'] })).rows).toEqual([{ t: 'a' }])
    for (let n = 0; n < 6; n++) expect((await ask(clients[n % 2]!, n)).rows).toEqual([{ n: 2 * n }])
    await expect(third.query({ name: 'wrong', text: 'select * from nothing' })).rejects.toThrow('"nothing" does not exist')
    expect(await scalarOf(third, 'select 3')).toBe(3)
  })

  test('without tracking of statements a name is not found where another transaction prepared it', async ({ onTestFinished: undo }) => {
    const { connect } = await newPooler(undo, { size: 2, tracksStatements: false })
    const client = await connect()
    const other = await connect()
    const ask = () => client.query({ name: 'one', text: 'select 1' })
    await ask()
    await other.query('begin')
    await other.query('select 1')
    await expect(
      (async () => {
        for (let n = 0; n < 2; n++) await ask()
        await other.query('commit')
        for (let n = 0; n < 3; n++) await ask()
      })(),
    ).rejects.toThrow('"one" does not exist')
  })

  test('refuses settings that a connection begins with, unless it ignores them', async ({ onTestFinished: undo }) => {
    const strict = await newPooler(undo)
    await expect(strict.connect({ statement_timeout: 50 })).rejects.toThrow('unsupported startup parameter: statement_timeout')
    const lenient = await newPooler(undo, { ignores: ['statement_timeout'] })
    const client = await lenient.connect({ statement_timeout: 50 })
    expect(await scalarOf(client, 'show statement_timeout')).toBe('0')
  })

  test('ends a server connection whose client leaves in a transaction', async ({ onTestFinished: undo }) => {
    const { connect, pids } = await newPooler(undo, { size: 1 })
    const [one, other] = [await connect(), await connect()]
    await one.query('begin')
    const held = await pidOf(one)
    await one.end()
    expect(await pidOf(other)).not.toBe(held)
    await eventually(() => expect(pids()).not.toContain(held))
  })
})

test('in session mode a client keeps its server connection', async ({ onTestFinished: undo }) => {
  const { connect } = await newPooler(undo, { mode: 'session' })
  const [one, other] = [await connect(), await connect()]
  const [ours, theirs] = [await pidOf(one), await pidOf(other)]
  expect(ours).not.toBe(theirs)
  expect([await pidOf(one), await pidOf(other), await pidOf(one)]).toEqual([ours, theirs, ours])
})
