import { type Db, maybeOne } from '../db/index.ts'
import { fail } from '../lib/errors/errors.ts'

/** Operators look after the whole installation. The first account is one, and the command line makes others. */
export const isOperator = async (db: Db, userId: string) =>
  Boolean(await maybeOne(db)`select 1 from users where id = ${userId} and operator`)

export async function assertOperator(db: Db, userId: string) {
  if (!(await isOperator(db, userId))) fail('FORBIDDEN', { message: 'Only an operator of this installation may do this.' })
}
