import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { attachEmbedded, startEmbedded } from '../../src/db/embedded/embedded.ts'
import { findHome } from '../../src/db/embedded/home.ts'
import { birthOf, findServer, findStrays } from '../../src/db/embedded/processes.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { destroyTestFolder, newTestFolder, runSql } from '../../test/support/postgres.ts'
import { type Entry, freePort, type Running, spawnNode, waitUntilReady } from '../../test/support/process.ts'
import { until } from '../support/until.ts'
import { builtProcess } from './build-processes.ts'
import { onceInRun } from './once-in-run.ts'

const SERVING_MS = 150_000
const GONE_MS = 20_000
const AGAIN_MS = 100
const OUTPUT_TAIL = 2_000
const COMMIT_DELAY_MICROS = 10_000

export type KeptNode = Awaited<ReturnType<typeof keepNode>>
export type Cluster = {
  main: KeptNode
  api: KeptNode
  workers: KeptNode[]
  databaseUrl: string
  /** The folder of the database. */
  home: string
  problems: string[]
  survivors(): number[]
  destroy(): Promise<void>
}

/** Five nodes with the usual pool would need more connections than the embedded PostgreSQL has. */
const SMALL_POOL = { DATABASE_POOL_SIZE: '6' }

let seed: Promise<string> | undefined

/** A folder with a migrated database, which clusters copy: creating one takes seconds. The processes of a test run share it. */
async function findSeed() {
  const parent = process.env.SEED_PARENT ?? newTestFolder()
  const folder = join(parent, 'seed')
  if (!process.env.SEED_PARENT) process.once('exit', () => destroyTestFolder(parent))
  await onceInRun('seed', async () => {
    const embedded = await startEmbedded({ dataDir: folder, log: createLog('silent') })
    await migrate(embedded.url)
    await embedded.stop()
  })
  return folder
}

async function copySeed(folder: string) {
  seed ??= findSeed()
  execFileSync('cp', ['-a', `${await seed}/.`, folder])
}

const running = new Set<Cluster>()
/** For a test that timed out. */
export const destroyClusters = () => Promise.all([...running].map((cluster) => cluster.destroy()))

type Plan = {
  env?: Record<string, string>
  /** Entry point of the API nodes. */
  entry?: Entry
  /** Names of separate worker processes. The first node is then an API node only. */
  workers?: string[]
  worker?: Entry
  /** A single node with every role. */
  single?: boolean
  /** For a suite with a long preparation, which calls `slowCommits` itself afterwards. */
  commitsAreFast?: boolean
  /** A database that is used instead of the embedded one, with fast commits. */
  databaseUrl?: string | undefined
}

/**
 * The product as a user runs it: one node with every role and the embedded PostgreSQL, and a second API node on the same
 * database. `problems` collects what no node may do, such as ending by itself.
 */
export async function startCluster({
  env: common = {},
  entry: apiEntry = 'product',
  workers: names = [],
  worker = 'sender',
  single = false,
  commitsAreFast = false,
  databaseUrl,
}: Plan = {}): Promise<Cluster> {
  if (worker === 'sender' && names.length) await builtProcess('sender')
  const folder = newTestFolder()
  if (!databaseUrl) await copySeed(folder)
  const problems: string[] = []
  const births = new Map<number, string | undefined>()
  const nodes: KeptNode[] = []
  const keep = async (name: string, env: Record<string, string>, entry = apiEntry) => {
    const settings = { RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn', ...(single ? {} : SMALL_POOL), ...common, ...env }
    const node = await keepNode(name, entry, settings, { problems, births })
    nodes.push(node)
    await node.serving()
    return node
  }
  let home = folder
  const killNow = () => {
    for (const node of nodes) node.kill()
    destroyTestFolder(home)
    destroyTestFolder(folder)
  }
  // Ctrl-C ends vitest without a teardown.
  process.once('exit', killNow)
  const survivors = () => [
    ...[...births].filter(([pid, birth]) => birth && birthOf(pid) === birth).map(([pid]) => pid),
    ...[findServer(home)].filter((pid) => pid !== undefined),
    ...findStrays(home).map(({ pid }) => pid),
  ]
  /** Kills everything, and waits until the process table shows that nothing is left. */
  const destroy = async () => {
    for (const node of nodes) node.kill()
    await Promise.all(nodes.map((node) => node.ended))
    killNow()
    process.off('exit', killNow)
    await until('all processes of the run are gone', GONE_MS, () => survivors().length === 0)
  }

  try {
    const database: Record<string, string> = databaseUrl ? { DATABASE_URL: databaseUrl } : {}
    const main = await keep('main', { ROLE: names.length ? 'api' : 'all', DATA_DIR: folder, ...database })
    if (!databaseUrl) home = findHome(folder)!
    const url = databaseUrl ?? (await attachEmbedded(folder))!.url
    if (!commitsAreFast && !databaseUrl) await slowCommits(url)
    const [api, ...workers] = await Promise.all([
      single ? main : keep('api', { ROLE: 'api', DATABASE_URL: url }),
      ...names.map((name) => keep(name, { ROLE: 'worker', DATABASE_URL: url }, worker)),
    ])
    const cluster = {
      main,
      api,
      workers,
      databaseUrl: url,
      home,
      problems,
      survivors,
      destroy: () => destroy().finally(() => running.delete(cluster)),
    }
    running.add(cluster)
    return cluster
  } catch (err) {
    await destroy()
    throw err
  }
}

/**
 * Slows commits down, as a slow disk does. Pages in the cache of the operating system survive a kill -9, so otherwise only the microseconds
 * before the write matter: a response sent before its commit went unnoticed through 12 faults, and with this was found within 8.
 */
export async function slowCommits(url: string) {
  const asAdmin = url.replace('//sterna:', '//postgres:')
  await runSql(asAdmin, `alter system set commit_delay = ${COMMIT_DELAY_MICROS}`)
  await runSql(asAdmin, 'alter system set commit_siblings = 0')
  await runSql(asAdmin, 'select pg_reload_conf()')
}

type Witness = { problems: string[]; births: Map<number, string | undefined> }

/** Restarts a node whenever it ends, as a process manager does, on the same port. */
export async function keepNode(name: string, entry: Entry, env: Record<string, string>, { problems, births }: Witness) {
  const port = String(await freePort())
  let current: Running
  /** Crash points of the next and of the current process. */
  let nextEnd: string | undefined
  let end: string | undefined
  const deaths: string[] = []
  let state: 'starting' | 'serving' | NodeJS.Signals = 'starting'
  let ending = false

  async function live() {
    for (; !ending; await sleep(AGAIN_MS)) {
      state = 'starting'
      end = nextEnd
      current = await spawnNode({ ...env, PORT: port, ...(end ? { CRASH_AT: end } : {}) }, entry)
      births.set(current.child.pid!, birthOf(current.child.pid!))
      const started = await waitUntilReady(current).then(
        () => true,
        () => false,
      )
      // Without a database a node does not start; then it is restarted.
      if (!started) current.child.kill('SIGKILL')
      else {
        nextEnd = undefined
        if (state === 'starting') state = 'serving'
      }
      judge(started, await current.exited)
      state = 'starting'
    }
  }

  function judge(started: boolean, code: number | null) {
    if (ending || !started) return
    const asPlanned = end !== undefined && current.child.signalCode === 'SIGKILL'
    // Also while it stops.
    if ((state === 'serving' || state === 'SIGTERM') && asPlanned) return void deaths.push(end!)
    if (state === 'serving') problems.push(withOutput(`${name} ended by itself with ${code}`))
    if (state === 'SIGTERM' && code !== 0) problems.push(withOutput(`${name} ended with ${code} after SIGTERM`))
  }
  /** The fatal error may be far above the end of the output. */
  const withOutput = (what: string) => {
    const output = current.output()
    const fatal = output.split('\n').filter((line) => line.includes('"level":"fatal"'))
    return `${what}; its output ends with:\n${[...fatal, output.slice(-OUTPUT_TAIL)].join('\n')}`
  }

  const living = live()
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    isServing: () => state === 'serving',
    serving: () =>
      until(`${name} serves`, SERVING_MS, () => state === 'serving').catch((err: Error) => {
        throw new Error(withOutput(err.message))
      }),
    signal(signal: NodeJS.Signals) {
      state = signal
      current.child.kill(signal)
    },
    /** The next process ends, or freezes, at that crash point. */
    endNextAt(place: string) {
      nextEnd = place
    },
    /** Crash points at which it ended as planned. */
    deaths,
    pid: () => current.child.pid!,
    /** Its state and the end of its output, to explain a failure. */
    explain: () => withOutput(`${name} is ${state}, process ${current.child.pid}, to end at ${end}`),
    /** Kills it and does not restart it. */
    kill() {
      ending = true
      current.child.kill('SIGKILL')
    },
    ended: living,
  }
}
