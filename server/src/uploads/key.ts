import { randomBytes } from 'node:crypto'

/** Accepted content types, by the file extension of the key. */
const TYPES = { jpg: 'image/jpeg', png: 'image/png', gif: 'image/gif', webp: 'image/webp' } as const

export type Extension = keyof typeof TYPES

const KEY = /^[0-9a-f]{40}\.(jpg|png|gif|webp)$/

/** 160 random bits, so that the address of an image cannot be guessed. */
export const newImageKey = (extension: Extension) => `${randomBytes(20).toString('hex')}.${extension}`

/** The content type a key is served with. Undefined for an invalid key. */
export function contentTypeOf(key: string) {
  const [, extension] = KEY.exec(key) ?? []
  return extension ? TYPES[extension as Extension] : undefined // the pattern allows no others
}
