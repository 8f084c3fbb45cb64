import { randomBytes } from 'node:crypto'

/** What is taken, kept and served, by the ending of its key. */
const TYPES = { jpg: 'image/jpeg', png: 'image/png', gif: 'image/gif', webp: 'image/webp' } as const

export type Ending = keyof typeof TYPES

const KEY = /^[0-9a-f]{40}\.(jpg|png|gif|webp)$/

/** 160 random bits: whoever was not told an address does not find it. */
export const newKey = (ending: Ending) => `${randomBytes(20).toString('hex')}.${ending}`

/** The one content type a key can ever be served with. Undefined when it is no key. */
export function typeOf(key: string) {
  const [, ending] = KEY.exec(key) ?? []
  return ending ? TYPES[ending as Ending] : undefined // one of them: the expression says so
}
