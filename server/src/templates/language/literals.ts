import type { Literal } from './expression.ts'

/** Words that are a value. */
export const LITERAL_WORDS = new Map<string, boolean | null | string>([
  ['true', true],
  ['false', false],
  ['nil', null],
  ['null', null],
  ['empty', ''],
  ['blank', ''],
])
/** Unquoted fallbacks that are not text. */
const BARE_LITERAL = /^(true|false|nil|null|[+-]?\d+(\.\d+)?)$/

/** The literal that a fallback without quotes is. */
export function bareLiteral(text: string): Literal {
  if (BARE_LITERAL.test(text)) return { kind: 'literal', text, value: LITERAL_WORDS.has(text) ? LITERAL_WORDS.get(text)! : Number(text) }
  // Word processors replace quotes by typographic ones.
  const value = /^(“.*”|„.*“|‘.*’)$/s.test(text) ? text.slice(1, -1) : text
  return { kind: 'literal', text: quoteText(value), value }
}

export const quoteText = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`

const ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** Like the engine: a backslash escapes the next character, or starts a control character or code point. */
export const unquoteText = (text: string) =>
  text.slice(1, -1).replace(/\\(?:u([0-9a-fA-F]{0,4})|([0-7]{1,3})|(.))/gs, (_, hex?: string, octal?: string, char?: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(`0${hex}`, 16))
    return octal === undefined ? (ESCAPES[char!] ?? char!) : String.fromCharCode(Number.parseInt(octal, 8))
  })
