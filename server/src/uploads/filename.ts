const MAX_CHARACTERS = 255

/** The caller's name for a file, only to be shown: no path, nothing that a terminal, a log or a reader could trip over. */
export function cleanFilename(given: string | undefined, otherwise: string) {
  const last = (given ?? '').split(/[\\/]/).at(-1)!
  const clean = last
    .toWellFormed()
    .normalize()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
  return /^\.*$/.test(clean) ? otherwise : [...clean].slice(0, MAX_CHARACTERS).join('')
}
