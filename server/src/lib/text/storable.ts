/** Removes U+0000 and replaces lone surrogates, which PostgreSQL cannot store. */
export const storable = (text: string) => Buffer.from(text).toString().replaceAll('\0', '')
