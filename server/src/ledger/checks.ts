import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { isStatementTimeout } from '../db/errors/sql-state.ts'
import { type Db, many, type Pool, scalars, type Tx, transact } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import type { Log } from '../lib/process/log.ts'
import type { Drift } from './repair.ts'

/** Common to all ledgers. */
export type AnyLedger = { name: string; repair: (db: Pool, projectId: string) => Promise<Drift> }

/** Projects of one run. */
const MAX_PROJECTS = 500
/** Time of one run. */
const CHECKS_MS = 60_000
/** Each project is checked this often, and after a failure; those that wait longest first. */
const CHECK_HOURS = 23
/** How long the doctor reports corrected counts. */
const REPORTED_DAYS = 7

/** Counts all facts of a project again. Returns the number of rows that were wrong, and are corrected, by table. */
export async function recountProject(db: Pool, ledgers: AnyLedger[], projectId: string): Promise<Drift> {
  const drift: Drift = {}
  for (const ledger of ledgers) Object.assign(drift, await ledger.repair(db, projectId))
  return drift
}

/** Compares the ledgers of projects with what they count, in turns. It rests as long as it works, to leave the database to others. */
export async function checkLedgers(db: Pool, log: Log, ledgers: AnyLedger[]) {
  const due = await scalars<string>(db)`
    select p.id from projects p left join ledger_checks c on c.project_id = p.id
    where p.deleted_at is null and (c.checked_at is null or c.checked_at < now() - make_interval(hours => ${CHECK_HOURS}))
    order by c.checked_at nulls first, p.id limit ${MAX_PROJECTS}
  `
  const deadline = performance.now() + CHECKS_MS
  for (const projectId of due) {
    const startedAt = performance.now()
    if (startedAt > deadline) return
    await checkProject(db, log, { ledgers, projectId })
    await sleep(performance.now() - startedAt)
  }
}

/** A ledger with more facts than can be counted in time is left as it is, and holds up no other. */
async function checkProject(db: Pool, log: Log, { ledgers, projectId }: { ledgers: AnyLedger[]; projectId: string }) {
  const drift: Drift = {}
  for (const ledger of ledgers) {
    try {
      Object.assign(drift, await ledger.repair(db, projectId))
    } catch (err) {
      if (!isStatementTimeout(err)) throw err
      log.warn({ projectId, ledger: ledger.name }, 'a project has too many rows to compare its counts with them')
    }
  }
  const wrong = Object.fromEntries(Object.entries(drift).filter(([, rows]) => rows > 0))
  const isWrong = Object.keys(wrong).length > 0
  if (isWrong) log.error({ projectId, wrong }, 'counts of a project were wrong and are corrected')
  await transact(db, (tx) => saveCheck(tx, projectId, isWrong ? wrong : null))
}

const saveCheck = (tx: Tx, projectId: string, wrong: object | null) =>
  sql`
    insert into ledger_checks as c (project_id, drift, drift_at) values (${projectId}, ${JSON.stringify(wrong)}::jsonb, case when ${wrong !== null} then now() end)
    on conflict (project_id) do update set checked_at = now(),
      drift = case when excluded.drift_at is null then c.drift else excluded.drift end, drift_at = coalesce(excluded.drift_at, c.drift_at)
  `.execute(tx)

/** For the doctor: projects whose counts were wrong lately, the last ones first. */
export const listDrift = (db: Db) =>
  many<{ projectId: string; at: Date; drift: Drift }>(db)`
    select project_id as "projectId", drift_at as at, drift from ledger_checks
    where drift_at > now() - make_interval(days => ${REPORTED_DAYS}) order by drift_at desc limit 20
  `

export const wipeLedgerChecks = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'ledger_checks', scope, { key: ['project_id'], which: sql`true` })
