import { type Db, many } from '../../db/index.ts'
import { uuidFromHex } from '../../lib/id.ts'
import { type Secrets, sameBytes } from '../../lib/secrets.ts'

type EmailRef = { projectId: string; emailId: string }

const PREFIX = 'bounce+'
const ID_BYTES = 16
const ENDING_BYTES = 4
const SIGNATURE_BYTES = 15
/** Together 280 bits, 120 of them the signature: 56 digits. With the prefix and the key number they are the 64 characters that a local part may have. */
const BYTES = ID_BYTES + ENDING_BYTES + SIGNATURE_BYTES
const DIGITS = (BYTES * 8) / 5
/** Base 32, so that servers that change the case of addresses do no harm. */
const TOKEN = new RegExp(`${PREFIX.replace('+', '\\+')}([0-9a-v])([0-9a-v]{${DIGITS}})@`, 'gi')

/** The bounce address of an email. It is signed and cannot be forged, so a message sent there is about that email. */
export function returnPathOf(secrets: Secrets, email: EmailRef, domain: string) {
  const named = `${email.emailId.replaceAll('-', '')}${endingOf(email.projectId)}`
  const { number, signature } = readHash(secrets.hash('return-path', signedText(email)))
  const signed = BigInt(`0x${named}${signature.toString('hex')}`)
  return `${PREFIX}${number.toString(32)}${signed.toString(32).padStart(DIGITS, '0')}@${domain}`
}

/** The email of the first valid return path in a text; undefined when there is none. */
export async function findReturnPath(db: Db, secrets: Secrets, text: string): Promise<EmailRef | undefined> {
  for (const [, digit, token] of [...text.matchAll(TOKEN)].slice(0, MAX_TRIED)) {
    const { emailId, ending, signature } = readToken(token!)
    const projects = await many<{ id: string }>(db)`
      select id from projects where right(id::text, 8) = ${ending} and deleted_at is null limit ${MAX_ALIKE}
    `
    const emails = projects.map(({ id }) => ({ projectId: id, emailId }))
    const signed = { number: Number.parseInt(digit!, 32), signature }
    const ours = emails.find((email) => isSigned(secrets, email, signed))
    if (ours) return ours
  }
  return undefined
}

/** Bounds the work: the text is untrusted and may be full of them. */
const MAX_TRIED = 5
/** Among 65,000 projects, two are expected to share an ending. */
const MAX_ALIKE = 100

const endingOf = (projectId: string) => projectId.slice(-ENDING_BYTES * 2)

/** Both ids in full. */
const signedText = ({ projectId, emailId }: EmailRef) => `${projectId} ${emailId}`

type Signed = { number: number; signature: Buffer }
const readHash = (hash: Buffer): Signed => ({ number: hash[0]!, signature: hash.subarray(1, 1 + SIGNATURE_BYTES) })

const isSigned = (secrets: Secrets, email: EmailRef, { number, signature }: Signed) =>
  secrets
    .hashes('return-path', signedText(email))
    .map(readHash)
    .some((ours) => ours.number === number && sameBytes(ours.signature, signature))

function readToken(token: string) {
  const number = [...token].reduce((sum, digit) => sum * 32n + BigInt(Number.parseInt(digit, 32)), 0n)
  const hex = number.toString(16).padStart(BYTES * 2, '0')
  return {
    emailId: uuidFromHex(hex.slice(0, ID_BYTES * 2)),
    ending: hex.slice(ID_BYTES * 2, (ID_BYTES + ENDING_BYTES) * 2),
    signature: Buffer.from(hex.slice((ID_BYTES + ENDING_BYTES) * 2), 'hex'),
  }
}
