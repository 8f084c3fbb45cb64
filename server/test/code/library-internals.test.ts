import { readFileSync } from 'node:fs'
import { createServer, type Server, Socket } from 'node:net'
import SMTPConnection from 'nodemailer/lib/smtp-connection/index.js'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cloneDatabase } from '../support/database.ts'

/**
 * Undocumented parts of libraries that the server relies on. Before changing a version here, read what changed in the library and check the
 * files named with it.
 */
const RELIED_ON = {
  /** `_socket`: delivery/transport/smtp.ts checks every write of a message. `_transform` of the message stream: it skips the escaping. */
  nodemailer: '10.4.0',
  /**
   * `connect`, `connections` and `send` of a connection: lib/smtp/smtp-listener.ts replaces the enhanced codes of replies. `_pendingSockets`,
   * `_upgrading` and `_socket`: lib/smtp/smtp-sockets.ts ends connections.
   */
  'smtp-server': '3.21.1',
  /** `connection.stream`: nodes/presence.ts drops a connection without a farewell. */
  pg: '8.23.1',
  /** `_private_jobs` and the channel `jobs:insert`: jobs/job.ts and jobs/liveness.ts. */
  'graphile-worker': '0.17.3',
}

const packageJson = (path: string) => JSON.parse(readFileSync(new URL(`../../../${path}/package.json`, import.meta.url), 'utf8'))

test.each(Object.entries(RELIED_ON))('%s is pinned to the version whose internals were checked', (name, version) => {
  expect(packageJson('server').dependencies[name]).toBe(version)
  expect(packageJson(`node_modules/${name}`).version).toBe(version)
})

describe('nodemailer', () => {
  let server: Server
  beforeAll(async () => {
    server = createServer((socket) => {
      socket.write('220 ready\r\n')
      socket.on('data', () => socket.write('250 ok\r\n'))
      socket.on('error', () => {})
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => server.close())

  test('an open SMTPConnection writes through its property _socket', async () => {
    const { port } = server.address() as { port: number }
    const connection = new SMTPConnection({ host: '127.0.0.1', port, ignoreTLS: true })
    await new Promise<void>((resolve, reject) => connection.connect((err) => (err ? reject(err) : resolve())))
    const { _socket: socket } = connection as unknown as { _socket: Socket }
    expect(socket).toBeInstanceOf(Socket)
    const written: string[] = []
    const write = socket.write
    socket.write = (...args: unknown[]) => {
      written.push(String(args[0]))
      return (write as (...given: unknown[]) => boolean).apply(socket, args)
    }
    await new Promise<void>((resolve, reject) => connection.reset((err) => (err ? reject(err) : resolve())))
    expect(written.join('')).toBe('RSET\r\n')
    connection.close()
  })
})

describe('with a database', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>
  let client: pg.Client
  beforeAll(async () => {
    database = await cloneDatabase()
    client = new pg.Client({ connectionString: database.url })
    await client.connect()
  })
  afterAll(async () => {
    await client.end()
    await database.drop()
  })

  test('destroying connection.stream ends a pg client', async () => {
    const other = new pg.Client({ connectionString: database.url })
    other.on('error', () => {})
    await other.connect()
    const ended = new Promise<void>((resolve) => other.once('end', () => resolve()))
    const { connection } = other as unknown as { connection: { stream: Socket } }
    expect(connection.stream).toBeInstanceOf(Socket)
    connection.stream.destroy()
    await ended
  })

  test('graphile-worker keeps its jobs in _private_jobs, with the columns that we read', async () => {
    const { rows } = await client.query(`
      select column_name as name, data_type as type from information_schema.columns
      where table_schema = 'graphile_worker' and table_name = '_private_jobs'
        and column_name in ('payload', 'attempts', 'max_attempts', 'locked_at', 'locked_by') order by 1`)
    expect(rows).toEqual([
      { name: 'attempts', type: 'smallint' },
      { name: 'locked_at', type: 'timestamp with time zone' },
      { name: 'locked_by', type: 'text' },
      { name: 'max_attempts', type: 'smallint' },
      { name: 'payload', type: 'json' },
    ])
  })

  test('graphile-worker has the functions that we call, and announces jobs on the channel jobs:insert', async () => {
    const { rows } = await client.query(`
      select proname as name, bool_or(prosrc like '%''jobs:insert''%') as announces from pg_proc
      where pronamespace = 'graphile_worker'::regnamespace group by 1 order by 1`)
    expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(['add_job', 'force_unlock_workers']))
    expect(rows.some(({ announces }) => announces)).toBe(true)
  })
})

describe('the Node that package.json promises', () => {
  const [, oldest] = /^>=(\d+\.\d+)$/.exec(packageJson('.').engines.node)!

  /** Lower bounds are compared; `^` and exact versions must be of the same major version. */
  const isAdmitted = (range: string) =>
    range.split('||').some((part) => {
      const [, sign = '', major = '0', minor = '0'] = /^\s*(>=|>|\^|~)?\s*v?(\d+)(?:\.(\d+))?/.exec(part) ?? []
      const [ours, ourMinor] = oldest!.split('.').map(Number)
      if (part.trim() === '*') return true
      const isOldEnough = Number(major) < ours! || (Number(major) === ours && Number(minor) <= ourMinor!)
      return sign.startsWith('>') ? isOldEnough : Number(major) === ours && isOldEnough
    })

  test('runs every package that is installed with the product', () => {
    const lock = JSON.parse(readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8'))
    type Package = { engines?: { node?: string } | string[]; dev?: boolean }
    const packages = Object.entries(lock.packages as Record<string, Package>)
    const needed = packages.flatMap(([name, { engines, dev }]) =>
      !dev && engines && !Array.isArray(engines) && engines.node ? [{ name, node: engines.node }] : [],
    )
    expect(needed.length).toBeGreaterThan(100)
    expect(needed.filter(({ node }) => !isAdmitted(node))).toEqual([])
  })
})
