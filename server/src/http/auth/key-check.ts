import { sql } from 'kysely'
import { many, orFail, type Tx } from '../../db/index.ts'
import { prepared } from '../../db/prepared.ts'
import { AppError } from '../../lib/errors/errors.ts'
import type { CallingProject } from './key-lookup.ts'

/** The calling project, with its key as it was when the request arrived. */
export type CallerProject = Pick<CallingProject, 'id' | 'keyId' | 'keyVersion' | 'keyUntil'>

/** The key was changed, rotated or revoked since it was cached. It is looked up again before the request is refused. */
export class StaleKey extends AppError {
  constructor() {
    super('INVALID_API_KEY')
  }
}

/**
 * Verifies callers whose key came from a cache, in the transaction of their requests: rotation, disabling and deletion take effect at once
 * on every node. Returns the refusals in order, undefined for a valid caller, and the time of the transaction. Also sets its lock timeout,
 * which saves a round trip.
 */
export async function checkCallers(tx: Tx, callers: CallerProject[], lockTimeoutMs: number) {
  const keyIds = [...new Set(callers.flatMap(({ keyId }) => keyId ?? []))]
  type Row = { id: string; keyVersion: number; disabled: boolean; keys: Record<string, number> | null; now: Date }
  const rows = await many(
    tx,
    prepared<Row>`
    select p.id, p.key_version as "keyVersion", p.disabled, now() as now, set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true),
      (select jsonb_object_agg(k.id, k.version) from api_keys k where k.project_id = p.id and k.id = any(${keyIds}::uuid[])) as keys
    from projects p where p.id = any(${[...new Set(callers.map(({ id }) => id))]}::uuid[]) and p.deleted_at is null
  `,
  )
  const known = new Map(rows.map((row) => [row.id, row]))
  const refusals = callers.map(({ id, keyId, keyVersion, keyUntil }) => {
    const project = known.get(id)
    const version = keyId === null ? project?.keyVersion : project?.keys?.[keyId]
    if (version !== keyVersion || (keyUntil && keyUntil <= project!.now)) return new StaleKey()
    return project!.disabled ? new AppError('PROJECT_DISABLED') : undefined
  })
  return { refusals, now: rows[0]?.now ?? new Date() }
}

/** The optimistic variant: fails as a whole if any caller is refused. Returns one row with the time. */
export function requireCallers(callers: CallerProject[], lockTimeoutMs: number) {
  const distinct = [
    ...new Map(callers.map((caller) => [`${caller.id} ${caller.keyId} ${caller.keyVersion} ${caller.keyUntil}`, caller])).values(),
  ]
  return prepared<{ now: Date }>`
    select now() as now, set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true), ${orFail(sql`count(*) = ${distinct.length}`)}
    from unnest(${distinct.map(({ id }) => id)}::uuid[], ${distinct.map(({ keyId }) => keyId)}::uuid[],
        ${distinct.map(({ keyVersion }) => keyVersion)}::int[], ${distinct.map(({ keyUntil }) => keyUntil?.toISOString() ?? null)}::timestamptz[])
      as c(id, key_id, version, valid_until)
    join projects p on p.id = c.id
    left join api_keys k on k.project_id = c.id and k.id = c.key_id
    where c.version = case when c.key_id is null then p.key_version else k.version end
      and coalesce(c.valid_until, 'infinity') > now() and not p.disabled and p.deleted_at is null
  `
}
