import { NIL_ID } from '../lib/id.ts'
import { type Secrets, sameBytes } from '../lib/secrets.ts'

/** The only action that a link allows. */
export type Purpose = 'unsubscribe' | 'subscribe' | 'manage'
export type LinkOwner = {
  projectId: string
  contactId: string
  /** The email that contains the link. Undefined in previews, and in links of the first version. */
  emailId?: string | undefined
}

/** First byte of a token. Links live for years, so the format must be able to change, and links of every version stay valid. */
const VERSION = 2
/** Second byte: the number of the key that signed the token, so that a new key can be introduced while old links stay valid. */
const KEY_NUMBER = 1
const ID_BYTES = 16
/** 128 bits: cannot be guessed. */
const MAC_BYTES = 16

export type PreferenceLinks = Record<`${Purpose}Url`, string>

/** The three links of a contact in an email. Computed on first use, because most emails show none. */
export const preferenceLinks = (secrets: Secrets, publicUrl: string, owner: LinkOwner): PreferenceLinks => {
  const links: Partial<PreferenceLinks> = {}
  const link = (purpose: Purpose) => {
    links[`${purpose}Url`] ??= `${publicUrl}${preferencePath(secrets, purpose, owner)}`
    return links[`${purpose}Url`]!
  }
  return {
    get unsubscribeUrl() {
      return link('unsubscribe')
    },
    get subscribeUrl() {
      return link('subscribe')
    },
    get manageUrl() {
      return link('manage')
    },
  }
}

export const preferencePath = (secrets: Secrets, purpose: Purpose, owner: LinkOwner) => `/${purpose}/${writeToken(secrets, purpose, owner)}`

function writeToken(secrets: Secrets, purpose: Purpose, { projectId, contactId, emailId = NIL_ID }: LinkOwner) {
  const ids = Buffer.from((projectId + contactId + emailId).replaceAll('-', ''), 'hex')
  const mac = secrets.hash('preference-link', [VERSION, KEY_NUMBER, purpose, projectId, contactId, emailId].join('\0'))
  return Buffer.concat([Buffer.of(VERSION, KEY_NUMBER), ids, mac.subarray(0, MAC_BYTES)]).toString('base64url')
}

/** The first version: without a key number and an email. */
function writeFirstToken(secrets: Secrets, purpose: Purpose, { projectId, contactId }: LinkOwner) {
  const ids = Buffer.from((projectId + contactId).replaceAll('-', ''), 'hex')
  const mac = secrets.hash('preference-link', ['1', purpose, projectId, contactId].join('\0'))
  return Buffer.concat([Buffer.of(1), ids, mac.subarray(0, MAC_BYTES)]).toString('base64url')
}

/** The owner of the link; undefined for a token that was not issued for this purpose. */
export function readPreferenceToken(secrets: Secrets, purpose: Purpose, token: string): LinkOwner | undefined {
  const bytes = Buffer.from(token, 'base64url')
  const isFirst = bytes[0] === 1
  if (bytes.length !== (isFirst ? FIRST_LENGTH : LENGTH)) return undefined
  const ids = bytes.subarray(isFirst ? 1 : 2)
  const emailId = isFirst ? NIL_ID : readId(ids, 2)
  const owner = { projectId: readId(ids, 0), contactId: readId(ids, 1), ...(emailId === NIL_ID ? {} : { emailId }) }
  const issued = isFirst ? writeFirstToken(secrets, purpose, owner) : writeToken(secrets, purpose, owner)
  // Compares the text, not the bytes: several texts decode to the same bytes, and only one was issued.
  return sameBytes(Buffer.from(token), Buffer.from(issued)) ? owner : undefined
}

const FIRST_LENGTH = 1 + 2 * ID_BYTES + MAC_BYTES
const LENGTH = 2 + 3 * ID_BYTES + MAC_BYTES

const readId = (ids: Buffer, index: number) =>
  ids.toString('hex', index * ID_BYTES, (index + 1) * ID_BYTES).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
