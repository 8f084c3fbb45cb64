/** Text from outside may hold U+0000 or half of a surrogate pair, which PostgreSQL refuses. */
export const storable = (text: string) => Buffer.from(text).toString().replaceAll('\0', '')
