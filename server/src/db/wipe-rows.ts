import { type RawBuilder, sql } from 'kysely'
import { countAffected, type Tx } from './index.ts'
import type { Schema } from './schema.ts'

/** A chunk of a project reset or deletion: at most `limit` rows that were created up to `before` (`infinity`: all). */
export type WipeScope = { projectId: string; before: string; limit: number }

type Selection = {
  /** Columns that identify a row within its project. */
  key?: string[]
  /** Condition on the row `t`. */
  which?: RawBuilder<unknown>
}

export const createdInScope = ({ before }: WipeScope) => sql`t.created_at <= ${before}::timestamptz`

/** Condition on the row `t`, for what survives a reset: only the deletion of a project removes it. */
export const OF_DELETED_PROJECT = sql`exists (select from projects p where p.id = t.project_id and p.deleted_at is not null)`

/** Deletes one chunk of a project's rows. */
export function wipeSql(table: keyof Schema, scope: WipeScope, { key = ['id'], which = createdInScope(scope) }: Selection = {}) {
  const columns = sql.join(key.map((column) => sql.ref(column)))
  return sql`
    delete from ${sql.table(table)} where project_id = ${scope.projectId} and (${columns}) in (
      select ${columns} from ${sql.table(table)} t where t.project_id = ${scope.projectId} and (${which}) limit ${scope.limit})`
}

/** Deletes some of the rows with a condition, of all projects. Returns their number. */
export const dropRows = (tx: Tx, table: keyof Schema, which: RawBuilder<unknown>, limit: number) =>
  countAffected(tx)`
    delete from ${sql.table(table)} where ctid = any(array(select ctid from ${sql.table(table)} where ${which} limit ${limit}))
  `

type Kept = { of: RawBuilder<unknown>; key?: string; bytes: RawBuilder<unknown>; maxRows: number; maxBytes: number }

/** Keeps the newest of some rows, limited by their number and size; the last one in any case. */
export function keepNewest(tx: Tx, table: keyof Schema, { of, key: name = 'id', bytes, maxRows, maxBytes }: Kept) {
  const key = sql.ref(name)
  return sql`
    delete from ${sql.table(table)} where ${of} and ${key} <= (
      select ${key} from (
        select ${key}, row_number() over newest as number, sum(${bytes}) over newest as bytes
        from ${sql.table(table)} where ${of}
        window newest as (order by ${key} desc rows unbounded preceding)
      ) as kept
      where number > ${maxRows} or (bytes > ${maxBytes} and number > 1)
      order by ${key} desc limit 1)
  `.execute(tx)
}

/** Returns the number of rows deleted: 0 when none is left. */
export const wipeRows = (tx: Tx, table: keyof Schema, scope: WipeScope, selection?: Selection) =>
  countAffected(tx, wipeSql(table, scope, selection))
