import type { Expression } from '../../conditions/expression.ts'
import { dataKeysOf } from '../../conditions/references.ts'
import type { SqlContext } from '../../conditions/sql.ts'
import { readDeletedFields } from '../../contacts/fields/fields.ts'
import { type Db, scalar } from '../../db/index.ts'

/**
 * Context of an evaluation besides the contact: the deleted fields, and the present database time. Read after the lock of the project was
 * taken: the transaction may have started before a sweep that another process has finished since.
 */
export async function readContext(db: Db, projectId: string, expressions: Expression[]) {
  const deletedFields = await readDeletedFields(db, projectId, [...new Set(expressions.flatMap(dataKeysOf))])
  const now = await scalar<Date>(db)`select clock_timestamp()`
  return { now, deletedFields }
}

/** The same for a statement about one expression. */
export const readSqlContext = async (db: Db, projectId: string, expression: Expression): Promise<SqlContext> => ({
  projectId,
  ...(await readContext(db, projectId, [expression])),
})
