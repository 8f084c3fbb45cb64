/**
 * Up to this length, `includes` of V8 takes time in proportion to the text. Longer ones may take text × needle: 30 ms for 65,000 characters
 * and a needle of 1,000 that nearly occurs everywhere.
 */
const MAX_QUICK = 250

/** Whether a text contains another, in time proportional to the text. */
export const containsText = (text: string, needle: string) =>
  needle.length <= MAX_QUICK || needle.length > text.length ? text.includes(needle) : containsLong(text, needle)

/** Knuth, Morris and Pratt: never looks at a character of the text again. */
function containsLong(text: string, needle: string) {
  const borders = bordersOf(needle)
  for (let at = 0, matched = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && unit !== needle.charCodeAt(matched)) matched = borders[matched - 1]!
    if (unit === needle.charCodeAt(matched)) matched++
    if (matched === needle.length) return true
  }
  return false
}

/** For each prefix: the length of the longest shorter prefix that it ends with. */
function bordersOf(needle: string) {
  const borders = new Uint16Array(needle.length)
  for (let at = 1, length = 0; at < needle.length; at++) {
    const unit = needle.charCodeAt(at)
    while (length > 0 && unit !== needle.charCodeAt(length)) length = borders[length - 1]!
    if (unit === needle.charCodeAt(length)) length++
    borders[at] = length
  }
  return borders
}
