const SHORT = 200
const PART = 40

/**
 * Enough of a text to find it among others; whether it is the same must still be asked. To find a long text by itself it would have to
 * be read in full, which takes longer for a mail than all else that is done with it when it is accepted.
 */
export function gistOf(text: string) {
  if (text.length <= SHORT) return text
  const middle = text.length >> 1
  return `${text.length} ${text.slice(0, PART)}${text.slice(middle, middle + PART)}${text.slice(-PART)}`
}
