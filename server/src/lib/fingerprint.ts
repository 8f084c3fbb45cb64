const SHORT = 200
const PART = 40

/**
 * Enough of a text to find it among others; whether it is the same must still be asked. To find a long text by itself it has to be read
 * in full, which took a seventh of what it takes to accept a mail.
 */
export function fingerprint(text: string) {
  if (text.length <= SHORT) return text
  const middle = text.length >> 1
  return `${text.length} ${text.slice(0, PART)}${text.slice(middle, middle + PART)}${text.slice(-PART)}`
}
