import fc from 'fast-check'

const SURROGATES = { from: 0xd800, count: 0x800 }
const LAST = 0x10ffff

/**
 * Any character of Unicode, as `unit` of a string. The same as `unit: 'binary'`, for which fast-check lists them all in a map: that takes
 * a second of CPU, and 100 MB for as long as the process runs.
 */
export const anyCharacter = fc.integer({ min: 0, max: LAST - SURROGATES.count }).map(
  (index) => String.fromCodePoint(index < SURROGATES.from ? index : index + SURROGATES.count),
  (character) => {
    const code = typeof character === 'string' ? (character.codePointAt(0) ?? -1) : -1
    const isSurrogate = code >= SURROGATES.from && code < SURROGATES.from + SURROGATES.count
    if (code < 0 || isSurrogate || character !== String.fromCodePoint(code)) throw new Error('not one character')
    return code < SURROGATES.from ? code : code - SURROGATES.count
  },
)
