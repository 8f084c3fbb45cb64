import { createCipheriv, createDecipheriv, createHmac, hash as hashAtOnce, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** One key per purpose: a value made for one purpose cannot be replayed for another. */
type Purpose =
  | 'api-key'
  | 'session'
  | 'verify-email'
  | 'reset-password'
  | 'invitation'
  | 'cursor'
  | 'attempt'
  | 'account-mail'
  | 'dkim-key'
  | 'domain-claim'
  | 'preference-link'
  | 'open-token'
  | 'click-token'
  | 'hit-client'
  | 'return-path'
  | 'webhook-secret'
  | 'preview-frame'
  | 'secret-check'

export type Secrets = ReturnType<typeof deriveSecrets>

const SEAL_VERSION = 1
export const SIGNATURE_LENGTH = 22
const IV_BYTES = 12
const TAG_BYTES = 16

/** All secrets derive from one master key, which our threads get too. A copy of the database without it reveals no secret. */
export function deriveSecrets(master: string) {
  const keys = new Map<string, Buffer>()
  const keyFor = (use: 'hash' | 'seal', purpose: Purpose) => {
    const info = `sterna/${use}/${purpose}`
    const key = keys.get(info) ?? Buffer.from(hkdfSync('sha256', master, 'sterna', info, 32))
    keys.set(info, key)
    return key
  }

  const hash = (purpose: Purpose, value: string) => createHmac('sha256', keyFor('hash', purpose)).update(value).digest()

  const signers = new Map<Purpose, (text: string) => string>()

  /** A keyed hash as text, cut to 132 bits: for links, which are made by the thousand. */
  function sign(purpose: Purpose, text: string) {
    const signer = signers.get(purpose) ?? createSigner(keyFor('hash', purpose))
    signers.set(purpose, signer)
    return signer(text).slice(0, SIGNATURE_LENGTH)
  }

  function seal(purpose: Purpose, text: string) {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', keyFor('seal', purpose), iv)
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([Buffer.of(SEAL_VERSION), iv, cipher.getAuthTag(), sealed])
  }

  function open(purpose: Purpose, sealed: Buffer) {
    if (sealed[0] !== SEAL_VERSION) throw new Error(`sealed with unknown version ${sealed[0]}`)
    const iv = sealed.subarray(1, 1 + IV_BYTES)
    const tag = sealed.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', keyFor('seal', purpose), iv).setAuthTag(tag)
    return decipher.update(sealed.subarray(1 + IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  }

  return { hash, sign, seal, open, master }
}

const BLOCK = 64
const DIGEST = 32
const MAX_SHORT = 2_048
const MAX_BYTES_PER_CHARACTER = 3

/**
 * HMAC-SHA256 (RFC 2104) with one-shot hashes: Node's own HMAC takes twice as long, for every link of every email. Synchronous, so the
 * buffers are reused between calls.
 */
function createSigner(key: Buffer) {
  const inner = Buffer.alloc(BLOCK + MAX_BYTES_PER_CHARACTER * MAX_SHORT, 0x36)
  const outer = Buffer.alloc(BLOCK + DIGEST, 0x5c)
  for (const [index, byte] of key.entries()) {
    inner[index] = byte ^ 0x36
    outer[index] = byte ^ 0x5c
  }
  return (text: string) => {
    if (text.length > MAX_SHORT) return createHmac('sha256', key).update(text).digest('base64url')
    const length = inner.write(text, BLOCK)
    outer.write(hashAtOnce('sha256', inner.subarray(0, BLOCK + length), 'binary'), BLOCK, 'binary')
    return hashAtOnce('sha256', outer, 'base64url')
  }
}

/** 256 random bits as text that needs no escaping in a URL, a cookie or a shell. */
export const randomToken = () => randomBytes(32).toString('base64url')

export const sameBytes = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b)
