import { sql } from 'kysely'
import { NIL_ID } from '../lib/id.ts'
import type { SecretPurpose, Secrets } from '../lib/secrets.ts'
import { countRows, type Db, many, type Pool, type Tx, transact } from './index.ts'
import type { Schema } from './schema.ts'

/** A column of values that SECRET_KEY has sealed or hashed. Both begin with the number of the key. */
export type KeyedColumn = { table: keyof Schema; column: string }

/** A column of sealed values. `key` are the columns of the primary key, `hash` that of a keyed hash of the same value. */
export type SealedColumn = KeyedColumn & { key: string[]; purpose: SecretPurpose; hash?: string }

/** Rows of one transaction. */
const PAGE = 500

const isOfFormerKey = ({ column }: KeyedColumn, { number }: Secrets) => sql`get_byte(${sql.ref(column)}, 0) <> ${number}`

/** The number of values that cannot be read without a former key. */
export const countOfFormerKeys = (db: Db, secrets: Secrets, keyed: KeyedColumn) =>
  countRows(db, sql`select from ${sql.table(keyed.table)} where ${isOfFormerKey(keyed, secrets)}`)

/** Seals the values of former keys with the current one. Returns how many. */
export async function rewriteSealed(db: Pool, secrets: Secrets, sealed: SealedColumn) {
  let after = sealed.key.map(() => NIL_ID)
  for (let rewritten = 0; ; ) {
    const page = await transact(db, (tx) => rewritePage(tx, secrets, sealed, after))
    rewritten += page.length
    if (page.length < PAGE) return rewritten
    after = page.at(-1)!.key
  }
}

async function rewritePage(tx: Tx, secrets: Secrets, sealed: SealedColumn, after: string[]) {
  const { table, column, purpose, hash } = sealed
  const key = sql.join(sealed.key.map((name) => sql.ref(name)))
  const page = await many<{ key: string[]; value: Buffer }>(tx)`
    select array[${key}]::text[] as key, ${sql.ref(column)} as value from ${sql.table(table)}
    where (${key}) > (${sql.join(after.map((id) => sql`${id}::uuid`))}) and ${isOfFormerKey(sealed, secrets)}
    order by ${key} limit ${PAGE} for no key update
  `
  if (!page.length) return page
  const values = page.map(({ value }) => secrets.open(purpose, value))
  const keys = sealed.key.map((_, index) => sql`${page.map((row) => row.key[index])}::uuid[]`)
  const isSame = sealed.key.map((name) => sql`t.${sql.ref(name)} = v.${sql.ref(`key_${name}`)}`)
  await sql`
    update ${sql.table(table)} t set ${sql.ref(column)} = v.sealed ${hash ? sql`, ${sql.ref(hash)} = v.hash` : sql``}
    from unnest(${sql.join(keys)}, ${values.map((value) => secrets.seal(purpose, value))}::bytea[],
        ${values.map((value) => secrets.hash(purpose, value))}::bytea[])
      as v(${sql.join(sealed.key.map((name) => sql.ref(`key_${name}`)))}, sealed, hash)
    where ${sql.join(isSame, sql` and `)}
  `.execute(tx)
  return page
}
