import { startEmbedded } from '../../src/db/embedded/embedded.ts'
import { many, maybeOne, type Pool } from '../../src/db/index.ts'
import { migrate } from '../../src/db/migrate.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { destroyTestFolder, newTestFolder } from '../../test/support/postgres.ts'
import { spawnNode } from '../../test/support/process.ts'
import { startPooler } from '../../test/support/servers/pooler.ts'
import { median } from '../neighbours/neighbours-check.ts'
import { until } from '../support/until.ts'
import type { Load, Ran } from './failovers.ts'
import { SESSION_IGNORES, startPgBouncer } from './pgbouncer.ts'
import { type Stage, startStage } from './stage.ts'

/** A pooler in front of a server. */
type Pooler = { url: string; stop(): Promise<unknown> }
type StartPooler = (databaseUrl: string, mode: 'transaction' | 'session') => Promise<Pooler>

export const POOLERS: Record<string, StartPooler> = {
  '5. transaction-mode pooler of the tests': (url, mode) =>
    startPooler(url, { size: mode === 'session' ? 60 : 8, mode, ignores: mode === 'session' ? SESSION_IGNORES : [] }),
  '5b. PgBouncer with deploy/pgbouncer.ini': startPgBouncer,
}

const FLOW = 600
const SAMPLES = 30
/** Emails that the relay answers after three seconds, so that every worker holds some. */
const HELD = 40
const WITHIN_MS = 30_000
/** Limits: one email behind the pooler, and the time until a killed worker is found. */
const ONE_MS = 200
const FOUND_MS = 2_000
/** Of the liveness locks; `OWN_CLASS` in db/presence.ts. */
const OWN_CLASS = 7_357_004

export async function runPooler(name: string, { say, ...load }: Load): Promise<Ran> {
  const folder = newTestFolder()
  const embedded = await startEmbedded({ dataDir: folder, log: createLog('silent') })
  await migrate(embedded.url)
  const problems: string[] = []
  const undo: (() => Promise<unknown>)[] = [embedded.stop]
  try {
    const direct = await timeDirect(embedded.url, load)
    const pooler = await POOLERS[name]!(embedded.url, 'transaction')
    undo.push(pooler.stop)
    problems.push(...(await refusalWithoutDirectUrl(pooler.url)))
    const stage = await startStage({ databaseUrl: pooler.url, directUrl: embedded.url, ...load })
    undo.push(stage.remove)
    const oneMs = await timeSome(stage)
    say(`${name}: one email in ${oneMs} ms, ${direct} ms without it`)
    await stage.flows(FLOW)
    const declaredDead = await stage.crashed()
    const foundMs = await timeUntilFound(stage)
    const ghosts = (await presentKeys(stage.db)).length - stage.nodes.length
    const { accepted, gone, stuck, twice } = await stage.verdict()
    await stage.remove()
    undo.splice(undo.indexOf(stage.remove), 1)
    const session = await POOLERS[name]!(embedded.url, 'session')
    undo.push(session.stop)
    problems.push(...stage.problems, ...(await sendsBehind(session.url, load)))
    if (declaredDead) problems.push(`${declaredDead} emails of living workers were taken over`)
    if (ghosts) problems.push(`${ghosts} more locks than nodes`)
    if (foundMs > FOUND_MS) problems.push(`a killed worker was found after ${foundMs} ms`)
    if (oneMs > ONE_MS) problems.push(`one email took ${oneMs} ms`)
    if (gone.length || stuck.length || twice.length)
      problems.push(`${gone.length} lost, ${stuck.length} did not end, ${twice.length} left twice`)
    const figures = `${accepted} accepted, ${gone.length} lost, ${twice.length} twice; ${declaredDead} emails of living workers taken over; a killed worker found after ${foundMs} ms; one email ${oneMs} ms, ${direct} ms without the pooler; refused without DATABASE_DIRECT_URL; session mode sends`
    return { figures, problems }
  } finally {
    for (const step of undo.toReversed()) await step()
    destroyTestFolder(folder)
  }
}

type Quiet = Omit<Load, 'say'>

async function timeDirect(databaseUrl: string, load: Quiet) {
  const stage = await startStage({ databaseUrl, ...load, perSecond: 1 })
  return timeSome(stage).finally(stage.remove)
}

async function timeSome(stage: Stage) {
  const times: number[] = []
  for (let n = 1; n <= SAMPLES; n++) times.push(await stage.timeOne(n))
  return median(times)
}

async function sendsBehind(databaseUrl: string, load: Quiet) {
  const stage = await startStage({ databaseUrl, ...load, perSecond: 1, workers: 1 })
  const sent = stage.timeOne(1).then(
    () => [],
    (err: Error) => [`session mode: ${err.message}`],
  )
  return sent.finally(stage.remove)
}

/** A pooler in transaction mode without the direct URL ends the start with a line that names the setting. */
async function refusalWithoutDirectUrl(databaseUrl: string) {
  const node = await spawnNode({ DATABASE_URL: databaseUrl, ROLE: 'api', DATABASE_WAIT_SECONDS: '10' })
  const code = await node.exited
  const isNamed = node.output().includes('DATABASE_DIRECT_URL')
  return code === 1 && isNamed ? [] : [`without the direct URL a node ended with ${code}: ${node.output().slice(-300)}`]
}

/** Kills a worker that holds emails, and waits until another has taken them over. */
async function timeUntilFound(stage: Stage) {
  await stage.sendSlow(HELD)
  // One worker may have claimed all of them.
  const { key } = await until(
    'a worker holds emails',
    WITHIN_MS,
    () =>
      maybeOne<{ key: number }>(stage.db)`select worker as key from emails where worker is not null and to_address like 'd3000+%' limit 1`,
  )
  const victim = await workerOf(stage, key)
  const holds = () => maybeOne(stage.db)`select from emails where worker = ${key} and state = 'sending' limit 1`
  victim.signal('SIGKILL')
  const killedAt = performance.now()
  await until('the emails of the killed worker are taken over', WITHIN_MS, async () => !(await holds()))
  const ms = Math.round(performance.now() - killedAt)
  await victim.serving()
  return ms
}

const presentKeys = (db: Pool) =>
  many<{ key: number; name: string }>(db)`
    select l.objid::bigint::int as key, a.application_name as name from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.classid = ${OWN_CLASS} and l.granted and a.datname = current_database()`

async function workerOf({ db, workers }: Stage, key: number) {
  const name = (await presentKeys(db)).find((each) => each.key === key)?.name
  const found = workers.find((worker) => name?.endsWith(`:${worker.pid()}`))
  if (!found) throw new Error(`no worker of this run holds the lock ${key}`)
  return found
}
