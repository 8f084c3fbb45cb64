/** Pattern of `like` for texts that contain this one. */
export const likePattern = (text: string) => `%${text.replace(/[\\%_]/g, '\\$&')}%`
