import { sql } from 'kysely'
import { type Db, many } from '../../db/index.ts'
import { type Secrets, sameBytes } from '../../lib/secrets.ts'
import { uuidFromHex } from './tracking-token.ts'

type EmailRef = { projectId: string; emailId: string }

const PREFIX = 'bounce+'
const ID_BYTES = 16
const ENDING_BYTES = 4
const SIGNATURE_BYTES = 15
/** Together 280 bits, 120 of them the signature: 56 digits, and with the prefix 63 of the 64 characters that the part before an @ may have. */
const BYTES = ID_BYTES + ENDING_BYTES + SIGNATURE_BYTES
const DIGITS = (BYTES * 8) / 5
/** Of base 32, so that whoever writes addresses in capitals, or in small letters, changes nothing. */
const TOKEN = new RegExp(`${PREFIX.replace('+', '\\+')}([0-9a-v]{${DIGITS}})@`, 'gi')

/** Where a mail comes back to: nobody can make such an address but us, so what is sent there is about that mail. */
export function returnPathOf(secrets: Secrets, mail: EmailRef, domain: string) {
  const named = `${mail.emailId.replaceAll('-', '')}${endingOf(mail.projectId)}`
  const signed = BigInt(`0x${named}${signatureOf(secrets, mail).toString('hex')}`)
  return `${PREFIX}${signed.toString(32).padStart(DIGITS, '0')}@${domain}`
}

/** The mail whose return path stands first in a text. Undefined when there is none that we made. */
export async function findReturnPath(db: Db, secrets: Secrets, text: string): Promise<EmailRef | undefined> {
  for (const [, token] of [...text.matchAll(TOKEN)].slice(0, MAX_TRIED)) {
    const { emailId, ending, signature } = readToken(token!)
    const projects = await many(
      db,
      sql<{ id: string }>`select id from projects where right(id::text, 8) = ${ending} and deleted_at is null limit ${MAX_ALIKE}`,
    )
    const mails = projects.map(({ id }) => ({ projectId: id, emailId }))
    const ours = mails.find((mail) => sameBytes(signature, signatureOf(secrets, mail)))
    if (ours) return ours
  }
  return undefined
}

/** A text of strangers may be full of them. */
const MAX_TRIED = 5
/** Two of 65,000 projects end alike. */
const MAX_ALIKE = 100

const endingOf = (projectId: string) => projectId.slice(-ENDING_BYTES * 2)

/** Over the whole of both ids. */
const signatureOf = (secrets: Secrets, { projectId, emailId }: EmailRef) =>
  secrets.hash('return-path', `${projectId} ${emailId}`).subarray(0, SIGNATURE_BYTES)

function readToken(token: string) {
  const number = [...token].reduce((sum, digit) => sum * 32n + BigInt(Number.parseInt(digit, 32)), 0n)
  const hex = number.toString(16).padStart(BYTES * 2, '0')
  return {
    emailId: uuidFromHex(hex.slice(0, ID_BYTES * 2)),
    ending: hex.slice(ID_BYTES * 2, (ID_BYTES + ENDING_BYTES) * 2),
    signature: Buffer.from(hex.slice((ID_BYTES + ENDING_BYTES) * 2), 'hex'),
  }
}
