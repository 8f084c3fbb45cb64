import { tokenize } from './language/tokenize.ts'

const WORDS = /^[\p{L}\p{N}_]+(?: +[\p{L}\p{N}_]+)+$/u
const OPERATOR = / contains /
/** Names are short; longer text is an expression. */
const MAX_NAME = 255

/** Outputs that look like a field name of several words but are parsed as an expression, with their lines. */
export function findAmbiguousNames(source: string): { name: string; line: number }[] {
  const found: { name: string; line: number }[] = []
  let line = 1
  let counted = 0
  for (const part of tokenize(source)) {
    if (part.kind !== 'output' || part.to - part.from > MAX_NAME) continue
    const name = source
      .slice(part.from, part.to)
      .split(/\||\?\?/)[0]!
      .trim()
    if (!WORDS.test(name) || !OPERATOR.test(name)) continue
    for (; counted < part.start; counted++) if (source[counted] === '\n') line++
    found.push({ name, line })
  }
  return found
}
