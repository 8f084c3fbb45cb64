import { type Db, scalars } from '../db/index.ts'
import { type Reference, settleNames } from './language/prepare.ts'

/** The given keys that contacts of the project have, or once had. */
export const findKnownFields = async (db: Db, projectId: string, keys: string[]): Promise<ReadonlySet<string>> =>
  new Set(await scalars<string>(db)`select key from contact_fields where project_id = ${projectId} and key = any(${keys}::text[])`)

/** For all contacts of a project: a name with an operator is a field if the project has one of that name. */
export async function settleByFields(db: Db, projectId: string, references: Reference[]): Promise<Reference[]> {
  const open = references.filter(({ operands }) => operands)
  if (!open.length) return references
  const keys = open.flatMap((reference) => [reference, ...reference.operands!]).map(({ path }) => path[0]!)
  const known = await findKnownFields(db, projectId, [...new Set(keys)])
  return settleNames(references, ([key]) => known.has(key!))
}
