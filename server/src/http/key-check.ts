import { sql } from 'kysely'
import { many, prepared, type Tx } from '../db/index.ts'
import { AppError } from '../lib/errors.ts'

/** Who called, as it was known when the call arrived. */
export type CallerProject = { id: string; keyVersion: number }

/**
 * Checks callers whose key came from a cache, in the transaction that works for them: rotation, disabling and deletion hold at
 * once, on every node. Returns, in order, why a caller is refused, or undefined; and the time by which all of it happens. Also
 * sets how long this transaction may wait for a lock: a statement of its own would cost more than it does.
 */
export async function checkCallers(tx: Tx, callers: CallerProject[], lockTimeoutMs: number) {
  const rows = await many(
    tx,
    sql<{ id: string; keyVersion: number; disabled: boolean; now: Date }>`${prepared}
      select id, key_version as "keyVersion", disabled, now() as now, set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true)
      from projects where id = any(${[...new Set(callers.map(({ id }) => id))]}::uuid[]) and deleted_at is null
    `,
  )
  const known = new Map(rows.map((row) => [row.id, row]))
  const refusals = callers.map(({ id, keyVersion }) => {
    const project = known.get(id)
    if (project?.keyVersion !== keyVersion) return new AppError('INVALID_API_KEY')
    return project.disabled ? new AppError('PROJECT_DISABLED') : undefined
  })
  return { refusals, now: rows[0]?.now ?? new Date() }
}
