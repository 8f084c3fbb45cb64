import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

const generate = promisify(generateKeyPair)

export type DomainKey = { publicKey: string; privateKey: string }

/** A new RSA key pair, one per domain. Generated off the event loop (about 100 ms); both keys are DER in base64. */
export async function newDkimKey(): Promise<DomainKey> {
  const { publicKey, privateKey } = await generate('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  })
  return { publicKey: publicKey.toString('base64'), privateKey: privateKey.toString('base64') }
}

/** A name for the record of a new key: that of a former key may still be published. */
export const newDkimSelector = () => `sterna-${randomBytes(4).toString('hex')}`
