/** Escapes that other dialects lack, or support only with a flag. */
const ESCAPE = /\\(?:p\{Cc\}|u([0-9A-Fa-f]{4})|.)/gs

/**
 * The same pattern for consumers of the document: ECMAScript without the `u` flag, RE2 and Python match the same texts. Code points above
 * U+00FF are written literally, because RE2 has no `\u`. Escapes are read in order, so `\\u` stays a backslash and a `u`.
 */
export const portablePattern = (source: string) =>
  source.replace(ESCAPE, (escaped, hex?: string) => {
    if (escaped === '\\p{Cc}') return '\\x00-\\x1f\\x7f-\\x9f'
    return hex === undefined ? escaped : characterOf(Number.parseInt(hex, 16))
  })

const characterOf = (code: number) => (code > 0xff ? String.fromCharCode(code) : `\\x${code.toString(16).padStart(2, '0')}`)
