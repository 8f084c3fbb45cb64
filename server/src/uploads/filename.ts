const MAX_CHARACTERS = 255

/** The caller's file name, for display only: without path and without control or invisible characters, which could break terminals and logs. */
export function cleanFilename(given: string | undefined, otherwise: string) {
  const last = (given ?? '').split(/[\\/]/).at(-1)!
  const clean = last
    .toWellFormed()
    .normalize()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  return /^\.*$/.test(clean) ? otherwise : [...clean].slice(0, MAX_CHARACTERS).join('')
}
