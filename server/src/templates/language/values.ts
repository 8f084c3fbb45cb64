/** How a value reads in a mail: lists joined by commas, nothing for what is missing, JSON for what has no better form. */
export function print(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(print).join()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** `a ?? b`: b when a is missing, null or empty. Zero and false are values. */
export const fallBack = (value: unknown, otherwise: unknown) => (isAbsent(value) ? otherwise : value)

export const isAbsent = (value: unknown) =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

const SCHEMES = new Set(['http', 'https', 'mailto', 'tel', 'sms', 'cid', 'webcal'])

/** For the start of a link or source. A contact may write `javascript:…` into a field that a template uses as an address. */
export function safeUrl(value: unknown): string {
  const text = print(value)
  // Browsers ignore controls and blanks inside a scheme, so they do not hide one here.
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(text.slice(0, 200).replace(/[\p{C}\p{Z}]/gu, '')) ?? []
  return scheme === undefined || SCHEMES.has(scheme.toLowerCase()) ? text : '#'
}

/** The filters that cannot make a text much longer. The fast path and the engine use these same functions. */
export const PLAIN_FILTERS: Record<string, (value: unknown) => string> = {
  upcase: (value) => print(value).toUpperCase(),
  downcase: (value) => print(value).toLowerCase(),
  capitalize: (value) => {
    const text = print(value)
    return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase()
  },
  strip: (value) => print(value).trim(),
}
