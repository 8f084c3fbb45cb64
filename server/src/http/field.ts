/** Long enough for any field of ours; a key that the caller made up may be longer than the whole answer should be. */
const MAX_LENGTH = 200

/** The dot path by which an error names a field. */
export const fieldOf = (path: readonly PropertyKey[]) => path.map(String).join('.').slice(0, MAX_LENGTH)
