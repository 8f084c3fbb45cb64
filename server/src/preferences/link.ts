import { type Secrets, sameBytes } from '../lib/secrets.ts'

/** What the holder of a link may do, and nothing else. */
export type Purpose = 'unsubscribe' | 'subscribe' | 'manage'
export type LinkOwner = { projectId: string; contactId: string }

/** The first byte of a token: links in mails live for years, so that how they are made can change. */
const VERSION = 1
const ID_BYTES = 16
/** 128 bits: nobody guesses one. */
const MAC_BYTES = 16
const TOKEN_BYTES = 1 + 2 * ID_BYTES + MAC_BYTES

export type PreferenceLinks = Record<`${Purpose}Url`, string>

/** The three links of a contact, as a mail to it has them. Made when they are asked for: most mails show none. */
export const preferenceLinks = (secrets: Secrets, publicUrl: string, holder: LinkOwner): PreferenceLinks => {
  const made: Partial<PreferenceLinks> = {}
  const link = (purpose: Purpose) => {
    made[`${purpose}Url`] ??= `${publicUrl}${preferencePath(secrets, purpose, holder)}`
    return made[`${purpose}Url`]!
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

export const preferencePath = (secrets: Secrets, purpose: Purpose, holder: LinkOwner) =>
  `/${purpose}/${writeToken(secrets, purpose, holder)}`

function writeToken(secrets: Secrets, purpose: Purpose, { projectId, contactId }: LinkOwner) {
  const ids = Buffer.from((projectId + contactId).replaceAll('-', ''), 'hex')
  const mac = secrets.hash('preference-link', `${VERSION}\0${purpose}\0${projectId}\0${contactId}`)
  return Buffer.concat([Buffer.of(VERSION), ids, mac.subarray(0, MAC_BYTES)]).toString('base64url')
}

/** Whose link it is; undefined when it is not one that we made for this purpose. */
export function readPreferenceToken(secrets: Secrets, purpose: Purpose, token: string): LinkOwner | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== TOKEN_BYTES || bytes[0] !== VERSION) return undefined
  const holder = { projectId: readId(bytes, 1), contactId: readId(bytes, 1 + ID_BYTES) }
  // The text, not the bytes: several texts decode to the same bytes, and only one of them is ours.
  return sameBytes(Buffer.from(token), Buffer.from(writeToken(secrets, purpose, holder))) ? holder : undefined
}

const readId = (bytes: Buffer, from: number) =>
  bytes.toString('hex', from, from + ID_BYTES).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
