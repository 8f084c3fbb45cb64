import { createCipheriv, createDecipheriv, createHmac, hash as hashAtOnce, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** One key per purpose: a value made for one purpose cannot be replayed for another. */
export type SecretPurpose =
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
  | 'click-target'
  | 'hit-client'
  | 'return-path'
  | 'webhook-secret'
  | 'preview-frame'
  | 'link-host'
  | 'claim-code'
  | 'secret-check'

export type Secrets = ReturnType<typeof deriveSecrets>

const DIGEST = 32
const MAC_LENGTH = 22
/** The key number and 132 bits of the keyed hash. */
export const SIGNATURE_LENGTH = 1 + MAC_LENGTH
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * All secrets derive from master keys, which our threads get too. A copy of the database without them reveals no secret. New values are made
 * with the first key. Every value that is stored or sent out begins with the number of its key, and values of all keys can be read.
 */
export function deriveSecrets(master: string, ...previous: string[]) {
  const masters: [string, ...string[]] = [master, ...previous]
  const current = deriveKey(master)
  const keys = [current, ...previous.map(deriveKey)]

  const hashWith = ({ number, keyFor }: DerivedKey, purpose: SecretPurpose, value: string) =>
    Buffer.concat([Buffer.of(number), createHmac('sha256', keyFor('hash', purpose)).update(value).digest()])

  /** A keyed hash to store. */
  const hash = (purpose: SecretPurpose, value: string) => hashWith(current, purpose, value)

  /** The hashes by all keys, to look a value up or to compare it. */
  const hashes = (purpose: SecretPurpose, value: string) => keys.map((key) => hashWith(key, purpose, value))

  /** A keyed hash as text, cut to 132 bits: for links, which are made by the thousand. */
  const sign = (purpose: SecretPurpose, text: string) => current.sign(purpose, text)

  function isSigned(purpose: SecretPurpose, text: string, signature: string) {
    const key = keys.find(({ digit }) => signature[0] === digit)
    return key !== undefined && sameBytes(Buffer.from(signature), Buffer.from(key.sign(purpose, text)))
  }

  function seal(purpose: SecretPurpose, text: string) {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', current.keyFor('seal', purpose), iv)
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([Buffer.of(current.number), iv, cipher.getAuthTag(), sealed])
  }

  function open(purpose: SecretPurpose, sealed: Buffer) {
    const key = keys.find(({ number }) => number === sealed[0])
    if (!key) throw new Error('sealed with a key that is neither SECRET_KEY nor in SECRET_KEY_PREVIOUS')
    const iv = sealed.subarray(1, 1 + IV_BYTES)
    const tag = sealed.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', key.keyFor('seal', purpose), iv).setAuthTag(tag)
    return decipher.update(sealed.subarray(1 + IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  }

  return { hash, hashes, sign, isSigned, seal, open, masters, number: current.number }
}

/**
 * The number of a master key, one digit in base 32: a return path has room for one digit. It follows from the key, so that all nodes agree on it;
 * keys used together must have different ones.
 */
export const keyNumberOf = (master: string) => derive(master, 'key-number').readUInt8() % 32

const derive = (master: string, info: string) => Buffer.from(hkdfSync('sha256', master, 'sterna', `sterna/${info}`, DIGEST))

type DerivedKey = ReturnType<typeof deriveKey>

function deriveKey(master: string) {
  const number = keyNumberOf(master)
  const digit = number.toString(32)
  const keys = new Map<string, Buffer>()
  const signers = new Map<SecretPurpose, (text: string) => string>()

  function keyFor(use: 'hash' | 'seal', purpose: SecretPurpose) {
    const info = `${use}/${purpose}`
    const key = keys.get(info) ?? derive(master, info)
    keys.set(info, key)
    return key
  }

  function sign(purpose: SecretPurpose, text: string) {
    const signer = signers.get(purpose) ?? createSigner(keyFor('hash', purpose))
    signers.set(purpose, signer)
    return digit + signer(text).slice(0, MAC_LENGTH)
  }

  return { number, digit, keyFor, sign }
}

const BLOCK = 64
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
