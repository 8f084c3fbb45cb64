/** Shown in the place of a value that its reader may not see. */
export const MASK = '•••'

export const maskQuery = (url: string) => url.replace(/[?].*$/s, `?${MASK}`)
