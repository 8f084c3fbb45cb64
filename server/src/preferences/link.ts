import { type Secrets, sameBytes } from '../lib/secrets.ts'

/** The only action that a link allows. */
export type Purpose = 'unsubscribe' | 'subscribe' | 'manage'
export type LinkOwner = { projectId: string; contactId: string }

/** First byte of a token. Links live for years, so the format must be able to change. */
const VERSION = 1
const ID_BYTES = 16
/** 128 bits: cannot be guessed. */
const MAC_BYTES = 16
const TOKEN_BYTES = 1 + 2 * ID_BYTES + MAC_BYTES

export type PreferenceLinks = Record<`${Purpose}Url`, string>

/** The three links of a contact. Computed on first use, because most emails show none. */
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

function writeToken(secrets: Secrets, purpose: Purpose, { projectId, contactId }: LinkOwner) {
  const ids = Buffer.from((projectId + contactId).replaceAll('-', ''), 'hex')
  const mac = secrets.hash('preference-link', `${VERSION}\0${purpose}\0${projectId}\0${contactId}`)
  return Buffer.concat([Buffer.of(VERSION), ids, mac.subarray(0, MAC_BYTES)]).toString('base64url')
}

/** The owner of the link; undefined for a token that was not issued for this purpose. */
export function readPreferenceToken(secrets: Secrets, purpose: Purpose, token: string): LinkOwner | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== TOKEN_BYTES || bytes[0] !== VERSION) return undefined
  const owner = { projectId: readId(bytes, 1), contactId: readId(bytes, 1 + ID_BYTES) }
  // Compares the text, not the bytes: several texts decode to the same bytes, and only one was issued.
  return sameBytes(Buffer.from(token), Buffer.from(writeToken(secrets, purpose, owner))) ? owner : undefined
}

const readId = (bytes: Buffer, from: number) =>
  bytes.toString('hex', from, from + ID_BYTES).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
