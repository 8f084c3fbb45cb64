import { type RawBuilder, sql } from 'kysely'
import type { Expression } from './expression.ts'
import type { DataPath } from './predicate.ts'
import { foldedSql } from './text/fold-case.ts'

type Text = { path: DataPath; needles: string[] }

/** Name of the derived table that has the folded texts of a contact. */
const TABLE = 'searched'
/** Filters on one text from which on it pays to fold it beforehand: with fewer, the first one often decides. */
const MIN_FILTERS = 3
/** From this length on a search may take milliseconds, and is made interruptible: see `contains_text`. */
const LONG_BYTES = 2_000

export type SharedTexts = ReturnType<typeof shareTexts>

/**
 * The texts of a contact that several filters of an expression search. A statement folds each of them once for a contact: folding a long
 * text takes up to 30 ms. A text that one or two filters search is folded where it is searched, if at all.
 */
export function shareTexts(expression: Expression) {
  const texts = textsOf(expression).filter(({ needles }) => needles.length >= MIN_FILTERS)
  const indexOf = (path: DataPath) => texts.findIndex((text) => text.path.key === path.key)

  return {
    /** Whether a part of the expression searches such a text. */
    areIn: (part: Expression) => textsOf(part).some(({ path }) => indexOf(path) >= 0),

    isEmpty: () => texts.length === 0,

    /** The condition that the text at this path contains `needle`; undefined when the text is not shared. It is never null. */
    contains(path: DataPath, needle: string): RawBuilder<boolean> | undefined {
      const index = indexOf(path)
      if (index < 0) return undefined
      const text = sql.ref(`${TABLE}.text_${index}`)
      return sql`coalesce(case when octet_length(${text}) > ${sql.lit(LONG_BYTES)}
      then contains_text(${text}, ${needle}) else strpos(${text}, ${needle}) > 0 end, false)`
    },

    /**
     * The derived table, for the row of `contacts`. `textSql` is the text at a path if it is one, else null. Without the offset the planner
     * would fold a text wherever it is searched.
     */
    toSql(textSql: (path: DataPath) => RawBuilder<unknown>) {
      const columns = texts.map(({ path, needles }, index) => sql`${foldedSql(textSql(path), needles)} as ${sql.ref(`text_${index}`)}`)
      return sql`(select ${sql.join(columns)} offset 0) as ${sql.table(TABLE)}`
    },
  }
}

/** Every text that the expression searches, with what it is searched for. */
function textsOf(expression: Expression): Text[] {
  const byKey = new Map<string, Text>()
  for (const { path, needle } of searchesOf(expression)) {
    const text = byKey.get(path.key) ?? { path, needles: [] }
    text.needles.push(needle)
    byKey.set(path.key, text)
  }
  return [...byKey.values()]
}

function searchesOf(expression: Expression): { path: DataPath; needle: string }[] {
  if (expression.type !== 'filter') return expression.nodes.flatMap(searchesOf)
  if (expression.inlined) return searchesOf(expression.inlined)
  const { predicate } = expression
  return predicate.of === 'data' && predicate.test.is === 'containing' ? [{ path: predicate.path, needle: predicate.test.folded }] : []
}
