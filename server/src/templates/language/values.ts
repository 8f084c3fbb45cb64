/** Prints a value: lists joined by commas, nothing for missing values, JSON for objects. */
export function print(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(print).join()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** `a ?? b`: b if a is missing, null or empty. Zero and false are values. */
export const fallBack = (value: unknown, otherwise: unknown) => (isAbsent(value) ? otherwise : value)

export const isAbsent = (value: unknown) =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

const SCHEMES = new Set(['http', 'https', 'mailto', 'tel', 'sms', 'cid', 'webcal'])

/** For values at the start of a URL attribute: a contact may put `javascript:…` into a field that a template uses as a link. */
export function safeUrl(value: unknown): string {
  const text = print(value)
  // Browsers ignore control characters and blanks within a scheme, so these must not hide one.
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(text.slice(0, 200).replace(/[\p{C}\p{Z}]/gu, '')) ?? []
  return scheme === undefined || SCHEMES.has(scheme.toLowerCase()) ? text : '#'
}

/** Filters that cannot make a string much longer. Shared by the fast path and the engine. */
export const PLAIN_FILTERS: Record<string, (value: unknown) => string> = {
  upcase: (value) => print(value).toUpperCase(),
  downcase: (value) => print(value).toLowerCase(),
  capitalize: (value) => {
    const text = print(value)
    return text.charAt(0).toUpperCase() + text.slice(1).toLowerCase()
  },
  strip: (value) => print(value).trim(),
}
