import { type RawBuilder, sql } from 'kysely'

const ONLY_ASCII = /^\p{ASCII}*$/u
const FOLDED = /[A-Z]|\P{ASCII}/gu

/**
 * Folds case by code point, with the tables of this runtime: the result of PostgreSQL's `lower` depends on the collation of the database.
 * Code points whose other case is several code points, such as `ß`, are left alone.
 */
export const foldCase = (text: string) => (ONLY_ASCII.test(text) ? text.toLowerCase() : text.replace(FOLDED, foldPoint))

function foldPoint(point: string) {
  const upper = singlePoint(point.toUpperCase()) ?? point
  return singlePoint(upper.toLowerCase()) ?? upper
}

const singlePoint = (text: string) => (text.length === String.fromCodePoint(text.codePointAt(0)!).length ? text : undefined)

/** Behind the last code point with two cases. */
const END_OF_CASES = 0x1f000

let variants: Map<string, string[]> | undefined

/** The code points beyond ASCII that fold to this one, other than itself. */
function variantsOf(folded: string): string[] {
  variants ??= findVariants()
  return variants.get(folded) ?? []
}

function findVariants() {
  const found = new Map<string, string[]>()
  for (let code = 0x80; code < END_OF_CASES; code++) {
    const point = String.fromCodePoint(code)
    const folded = foldPoint(point)
    if (folded !== point) found.set(folded, [...(found.get(folded) ?? []), point])
  }
  return found
}

/**
 * A text of PostgreSQL folded like `foldCase`, as far as a search for `needle` can tell: only code points of the needle matter. The
 * collation "C" lowers ASCII and nothing else, on every server.
 */
export function foldedSql(text: RawBuilder<unknown>, needle: string): RawBuilder<unknown> {
  const pairs = [...new Set(needle)].flatMap((folded) => variantsOf(folded).map((variant) => ({ variant, folded })))
  const lower = sql`lower(${text} collate "C")`
  if (!pairs.length) return lower
  return sql`translate(${lower}, ${pairs.map(({ variant }) => variant).join('')}, ${pairs.map(({ folded }) => folded).join('')})`
}
