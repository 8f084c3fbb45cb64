import { type Db, scalar } from '../db/index.ts'
import type { Quota } from '../http/limits/quotas.ts'
import type { Config } from '../lib/config.ts'
import { fail } from '../lib/errors/errors.ts'
import { STERNA } from '../lib/process/command.ts'
import type { Log } from '../lib/process/log.ts'
import { type Secrets, sameBytes } from '../lib/secrets.ts'
import { hasAccounts } from '../nodes/instance.ts'

/** Crockford's base 32: no I, L, O and U, which people mistake for other characters. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 16
const GROUP = 4

/** Longer than any way to write a code. */
export const MAX_CLAIM_CODE = 100

/**
 * The code by which the first account of this database is created. It is not stored: it follows from the secret key, so that a copy of the
 * database does not reveal it, all nodes agree on it, and nothing needs to be sealed again when the key changes.
 */
export const readClaimCode = async (db: Db, secrets: Secrets) => codeOf(secrets.hash('claim-code', await readNonce(db)))

const readNonce = (db: Db) => scalar<string>(db)`select claim_nonce from instance`

function codeOf(hash: Buffer) {
  // Behind the number of the key. 256 is a multiple of 32: all characters are equally likely.
  const characters = Array.from(hash.subarray(1, 1 + LENGTH), (byte) => ALPHABET[byte % ALPHABET.length])
  return Array.from({ length: LENGTH / GROUP }, (_, at) => characters.slice(at * GROUP, (at + 1) * GROUP).join('')).join('-')
}

/** Capitals, without hyphens and spaces, and with look-alikes as what was meant. */
const normalize = (code: string) =>
  code
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1')

/** The code by any key of this node is right: another node may still have logged the one by the former key. */
async function isClaimCode(db: Db, secrets: Secrets, given: string) {
  const nonce = await readNonce(db)
  const text = Buffer.from(normalize(given))
  const matches = secrets.hashes('claim-code', nonce).map((hash) => sameBytes(Buffer.from(normalize(codeOf(hash))), text))
  return matches.includes(true)
}

type Deps = {
  db: Db
  secrets: Secrets
  config: Pick<Config, 'claimsFirstAccount'>
  attempts: { take: (quota: Quota) => Promise<void> }
}

/** Refuses to create the first account without the claim code. An account is never the first again, so this need not be repeated. */
export async function checkClaim(
  { db, secrets, config, attempts }: Deps,
  { code, network }: { code: string | undefined; network: string },
) {
  if (!config.claimsFirstAccount || (await hasAccounts(db))) return
  const message = `The first account of this installation needs its claim code, which is in the log, and is printed by: ${STERNA} claim-code`
  if (code === undefined) fail('CLAIM_CODE_REQUIRED', { message })
  await attempts.take({ scope: 'claim-code', subject: network })
  if (!(await isClaimCode(db, secrets, code))) fail('CLAIM_CODE_REQUIRED', { message: `This is not the claim code. ${message}` })
}

/** Logs the claim code while there is no account that it could give away. */
export async function logClaimCode(deps: { db: Db; secrets: Secrets; config: Pick<Config, 'claimsFirstAccount'>; log: Log }) {
  if (!deps.config.claimsFirstAccount || (await hasAccounts(deps.db))) return
  const code = await readClaimCode(deps.db, deps.secrets)
  deps.log.warn({}, `there is no account yet: the first one, which is the operator's, is created with the claim code ${code}`)
}
