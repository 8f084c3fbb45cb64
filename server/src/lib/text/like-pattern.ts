/** Pattern of `like` for texts that contain this one. */
export const likePattern = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** The same for addresses, which are stored in lower case. */
export const addressPattern = (search: string) => likePattern(search.trim().normalize('NFC').toLowerCase())
