import { sql } from 'kysely'
import { many, orFail, prepared, type Tx } from '../../db/index.ts'
import { AppError } from '../../lib/errors.ts'

/** The calling project, with the version of its keys when the request arrived. */
export type CallerProject = { id: string; keyVersion: number }

/**
 * Verifies callers whose key came from a cache, in the transaction of their requests: rotation, disabling and deletion take effect at once
 * on every node. Returns the refusals in order, undefined for a valid caller, and the time of the transaction. Also sets its lock timeout,
 * which saves a round trip.
 */
export async function checkCallers(tx: Tx, callers: CallerProject[], lockTimeoutMs: number) {
  const rows = await many<{ id: string; keyVersion: number; disabled: boolean; now: Date }>(tx)`${prepared}
    select id, key_version as "keyVersion", disabled, now() as now, set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true)
    from projects where id = any(${[...new Set(callers.map(({ id }) => id))]}::uuid[]) and deleted_at is null
  `
  const known = new Map(rows.map((row) => [row.id, row]))
  const refusals = callers.map(({ id, keyVersion }) => {
    const project = known.get(id)
    if (project?.keyVersion !== keyVersion) return new AppError('INVALID_API_KEY')
    return project.disabled ? new AppError('PROJECT_DISABLED') : undefined
  })
  return { refusals, now: rows[0]?.now ?? new Date() }
}

/** The optimistic variant: fails as a whole if any caller is refused. Returns one row with the time. */
export function requireCallers(callers: CallerProject[], lockTimeoutMs: number) {
  const projects = [...new Map(callers.map((caller) => [`${caller.id} ${caller.keyVersion}`, caller])).values()]
  return sql<{ now: Date }>`${prepared}
    select now() as now, set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true), ${orFail(sql`count(*) = ${projects.length}`)}
    from projects p join unnest(${projects.map(({ id }) => id)}::uuid[], ${projects.map(({ keyVersion }) => keyVersion)}::int[]) as c(id, version)
      on c.id = p.id and c.version = p.key_version
    where not p.disabled and p.deleted_at is null
  `
}
