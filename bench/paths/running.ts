import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { attachEmbedded } from '../../server/src/db/embedded/embedded.ts'
import { connect, one } from '../../server/src/db/index.ts'
import { createLog } from '../../server/src/lib/process/log.ts'
import { startScript } from '../node.ts'
import { cpuSplit, watchMemory } from '../process.ts'
import type { Timing } from './contacts.ts'

/** Time to settle after the start, and time watched. */
const SETTLE_MS = 30_000
const IDLE_MS = 60_000

/** How long a first and a later start take, and what a node with the embedded database uses while nothing happens. */
export async function timeRunning({ quick }: { quick: boolean }): Promise<Timing[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sterna-running-'))
  const env = { DATA_DIR: dataDir, DATABASE_URL: '', SECRET_KEY: 'a secret key for the benchmark and nothing else' }
  const start = async () => {
    const began = performance.now()
    const node = await startScript('server.mjs', env)
    return { node, seconds: (performance.now() - began) / 1_000 }
  }
  try {
    const first = await start()
    await first.node.stop()
    const later = await start()
    const idle = await watchIdle(later.node.pid, dataDir, quick ? 0.2 : 1)
    await later.node.stop()
    return [
      { name: 'first start of a built clone, until /ready (limit 6 s)', result: `${first.seconds.toFixed(1)} s` },
      { name: 'later start (limit 3 s)', result: `${later.seconds.toFixed(1)} s` },
      ...idle,
    ]
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function watchIdle(pid: number, dataDir: string, scale: number): Promise<Timing[]> {
  const { url } = (await attachEmbedded(dataDir))!
  const db = connect({ url, max: 1, log: createLog('silent') })
  const commits = async () =>
    (await one<{ commits: number }>(db)`select xact_commit::int as commits from pg_stat_database where datname = current_database()`)
      .commits
  await sleep(SETTLE_MS * scale)
  const before = { ...cpuSplit(pid), commits: await commits() }
  const memory = watchMemory(pid)
  await sleep(IDLE_MS * scale)
  const after = { ...cpuSplit(pid), commits: await commits() }
  await db.destroy()
  const share = (part: 'app' | 'postgres') => `${((after[part] - before[part]) / (IDLE_MS * scale) / 10).toFixed(2)} % of a core`
  const perMinute = ((after.commits - before.commits) * 60_000) / (IDLE_MS * scale)
  return [
    { name: 'idle: CPU of Node (limit 1 %)', result: share('app') },
    { name: 'idle: CPU of PostgreSQL (limit 0.5 %)', result: share('postgres') },
    { name: 'idle: memory of Node (limit 130 MB)', result: `${memory.stop()} MB` },
    { name: 'idle: transactions', result: `${Math.round(perMinute)} a minute` },
  ]
}
