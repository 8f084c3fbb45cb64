import { type RawBuilder, sql } from 'kysely'
import { type Db, many, scalar } from '../../db/index.ts'

/** How a project names its contacts: the alternatives of `nameFields`, each with its fields in order. */
export const readNameFields = (db: Db, projectId: string) => scalar<string[]>(db)`select name_fields from projects where id = ${projectId}`

/** Part of the address, or of a name: `q` of a list, with the `nameFields` of the project at that time. */
export function matchesNameSql({ q, nameFields }: { q: string; nameFields: string[] }): RawBuilder<unknown> {
  const pattern = patternOf(q)
  const texts = [sql`email`, ...nameFields.map((alternative) => nameSql(alternative.split(' + ')))]
  const matches = texts.map((text) => sql`${text} ~ ${pattern}`)
  return sql`(${sql.join(matches, sql` or `)})`
}

const nameSql = (fields: string[]) => sql`concat_ws(' ', ${sql.join(fields.map((field) => sql`data ->> ${field}::text`))})`

/**
 * Every letter in both cases, because the locale of the database may know only those of ASCII. Words may have any white space between
 * them. Addresses are stored normalised, names as they were given.
 */
const patternOf = (q: string) =>
  q
    .trim()
    .normalize('NFC')
    .split(/\s+/)
    .map((word) => Array.from(word, eitherCase).join(''))
    .join('\\s+')

function eitherCase(letter: string): string {
  const cases = [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])].filter((each) => Array.from(each).length === 1)
  return cases.length > 1 ? `[${cases.join('')}]` : letter.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&')
}

/** Rows with the names of their contacts: the first alternative of which a contact has some text. */
export async function withNames<Row extends { contactId: string | null }>(db: Db, projectId: string, rows: Row[]) {
  const nameFields = await readNameFields(db, projectId)
  const ids = rows.flatMap(({ contactId }) => contactId ?? [])
  const found =
    nameFields.length && ids.length
      ? await many<{ id: string; name: string | null }>(db)`
          select id, coalesce(${sql.join(nameFields.map((alternative) => shownNameSql(alternative.split(' + '))))}) as name
          from contacts where project_id = ${projectId} and id = any(${ids}::uuid[])
        `
      : []
  const names = new Map(found.map(({ id, name }) => [id, name]))
  return rows.map((row) => ({ ...row, name: (row.contactId && names.get(row.contactId)) || null }))
}

const shownNameSql = (fields: string[]) => {
  const texts = fields.map(
    (field) => sql`case when jsonb_typeof(data -> ${field}::text) = 'string' then nullif(btrim(data ->> ${field}::text), '') end`,
  )
  return sql`nullif(concat_ws(' ', ${sql.join(texts)}), '')`
}
