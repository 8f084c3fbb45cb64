import type { SealedColumn } from '../db/sealed-columns.ts'
import { newDkimKey, newDkimSelector } from '../domains/sender-domains/dkim-key.ts'
import type { Secrets } from '../lib/secrets.ts'
import { newSigningSecret } from '../webhooks/sign.ts'

/** A row as JSON of PostgreSQL has it: bytes are `\x` and hexadecimal digits. */
type JsonRow = Record<string, unknown>

const HEX = '\\x'
const toBytes = (value: string) => Buffer.from(value.slice(HEX.length), 'hex')
const toHex = (bytes: Buffer) => `${HEX}${bytes.toString('hex')}`

/** For the file: sealed values as they are without the seal, or none of them. Hashes are made again, by the key of the target. */
export function unsealRow(row: JsonRow, sealed: SealedColumn[], secrets: Secrets | undefined): JsonRow {
  const plain = { ...row }
  for (const { column, hash, purpose } of sealed) {
    const value = row[column]
    if (hash) delete plain[hash]
    if (secrets) plain[column] = typeof value === 'string' ? secrets.open(purpose, toBytes(value)) : null
    else delete plain[column]
  }
  return plain
}

/** For the target: values of the file sealed by its key. */
export function sealRow(row: JsonRow, sealed: SealedColumn[], secrets: Secrets): JsonRow {
  const values = { ...row }
  for (const { column, hash, purpose } of sealed) {
    const value = row[column]
    if (typeof value !== 'string') continue
    values[column] = toHex(secrets.seal(purpose, value))
    if (hash) values[hash] = toHex(secrets.hash(purpose, value))
  }
  return values
}

/** New secrets for rows of a file without them. */
export const NEW_SECRETS: Record<string, () => Promise<JsonRow>> = {
  async domains() {
    const { publicKey, privateKey } = await newDkimKey()
    return { dkim_selector: newDkimSelector(), dkim_public_key: publicKey, dkim_private_key_sealed: privateKey }
  },
  async webhook_endpoints() {
    return { secret: newSigningSecret(), previous: null, previous_until: null }
  },
}
