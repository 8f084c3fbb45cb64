import { cpSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { attachEmbedded } from '../src/db/embedded/embedded.ts'
import { findHome } from '../src/db/embedded/home.ts'
import { birthOf, findServer, findStrays } from '../src/db/embedded/processes.ts'
import { destroyTestFolder, newTestFolder, runSql } from '../test/support/postgres.ts'
import { type Entry, freePort, type Running, spawnNode, waitUntilReady } from '../test/support/process.ts'
import { until } from './until.ts'

const SERVING_MS = 40_000
const GONE_MS = 5_000
const AGAIN_MS = 100
const OUTPUT_TAIL = 2_000
const COMMIT_DELAY_MICROS = 10_000

export type Kept = Awaited<ReturnType<typeof keepNode>>
export type Cluster = {
  main: Kept
  api: Kept
  workers: Kept[]
  databaseUrl: string
  /** Where the files of the database are. */
  home: string
  problems: string[]
  survivors(): number[]
  destroy(): Promise<void>
}

const running = new Set<Cluster>()
/** For a test that ran out of time. */
export const destroyClusters = () => Promise.all([...running].map((cluster) => cluster.destroy()))

type Plan = {
  env?: Record<string, string>
  /** What the API nodes are. */
  entry?: Entry
  /** Names of processes that do the work, beside the first node, which then does not; and what they are. */
  workers?: string[]
  worker?: Entry
  /** One node with everything, and no other. */
  single?: boolean
  /** When what comes before the faults is to be as fast as it can: then `slowCommits` is for who has done that. */
  commitsAreFast?: boolean
}

/**
 * The product as a user runs it: one node with everything and the embedded PostgreSQL, and a second API node on the same
 * database. `problems` fills with what no node may do, whatever is done to the others.
 */
export async function startCluster({
  env: common = {},
  entry: apiEntry = 'product',
  workers: names = [],
  worker = 'sender',
  single = false,
  commitsAreFast = false,
}: Plan = {}): Promise<Cluster> {
  if (worker === 'sender' && names.length) await buildSender()
  const folder = newTestFolder()
  const problems: string[] = []
  const births = new Map<number, string | undefined>()
  const nodes: Kept[] = []
  const keep = async (name: string, env: Record<string, string>, entry = apiEntry) => {
    const node = await keepNode(name, entry, { RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn', ...common, ...env }, { problems, births })
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
  /** Kills everything, and looks into the process table until nothing is left. */
  const destroy = async () => {
    for (const node of nodes) node.kill()
    await Promise.all(nodes.map((node) => node.ended))
    killNow()
    process.off('exit', killNow)
    await until('all processes of the run are gone', GONE_MS, () => survivors().length === 0)
  }

  try {
    const main = await keep('main', { ROLE: names.length ? 'api' : 'all', DATA_DIR: folder })
    home = findHome(folder)!
    const { url } = (await attachEmbedded(folder))!
    if (!commitsAreFast) await slowCommits(url)
    const api = single ? main : await keep('api', { ROLE: 'api', DATABASE_URL: url })
    const workers = await Promise.all(names.map((name) => keep(name, { ROLE: 'worker', DATABASE_URL: url }, worker)))
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
 * As on a slow disk. What the operating system holds survives a kill -9, so without this only the microseconds before a commit is
 * handed to it would count: answers that went out too early were not noticed in 12 faults, and with it in 8.
 */
export async function slowCommits(url: string) {
  const asAdmin = url.replace('//sterna:', '//postgres:')
  await runSql(asAdmin, `alter system set commit_delay = ${COMMIT_DELAY_MICROS}`)
  await runSql(asAdmin, 'alter system set commit_siblings = 0')
  await runSql(asAdmin, 'select pg_reload_conf()')
}

/** It is started again and again, and from its sources that takes three times as long. */
async function buildSender() {
  const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  await build({
    entryPoints: { sender: pathOf('./sender.ts'), 'build-thread': pathOf('../src/delivery/message/build-thread.ts') },
    outdir: pathOf('./dist'),
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'warning',
  })
  // It is ready when the database has all of them.
  cpSync(pathOf('../src/db/migrations'), pathOf('./dist/migrations'), { recursive: true })
}

type Witness = { problems: string[]; births: Map<number, string | undefined> }

/** Starts it again whenever it ends, as a process manager does, at the same address. */
async function keepNode(name: string, entry: Entry, env: Record<string, string>, { problems, births }: Witness) {
  const port = String(await freePort())
  let current: Running
  /** Where the next life, and where this one, is to end. */
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
      // A node that finds no database does not start; the manager tries again.
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
    // Also on its way out.
    if ((state === 'serving' || state === 'SIGTERM') && asPlanned) return void deaths.push(end!)
    if (state === 'serving') problems.push(withOutput(`${name} ended by itself with ${code}`))
    if (state === 'SIGTERM' && code !== 0) problems.push(withOutput(`${name} ended with ${code} after SIGTERM`))
  }
  /** What it died of may be long before what it said last. */
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
    /** Its next life ends, or stops, at that place. */
    endNextAt(place: string) {
      nextEnd = place
    },
    /** Places at which it ended as planned. */
    deaths,
    pid: () => current.child.pid!,
    /** For good. */
    kill() {
      ending = true
      current.child.kill('SIGKILL')
    },
    ended: living,
  }
}
