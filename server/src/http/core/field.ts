/** Longer than any field of ours. A caller's own key may be of any length, and must not blow up the response. */
const MAX_LENGTH = 200

/** The dot path by which an error names a field. */
export const fieldOf = (path: readonly PropertyKey[]) => path.map(String).join('.').slice(0, MAX_LENGTH)
