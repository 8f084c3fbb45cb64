import { NIL_ID, uuidFromHex } from '../lib/id.ts'
import { type Secrets, SIGNATURE_LENGTH } from '../lib/secrets.ts'

/** The only action that a link allows. */
export type Purpose = 'unsubscribe' | 'subscribe' | 'manage'
export type LinkOwner = {
  projectId: string
  contactId: string
  /** The email that contains the link. Undefined in previews. */
  emailId?: string | undefined
}

/** First byte of a token. Links live for years, so the format must be able to change, and links of every version stay valid. */
const VERSION = 1
const ID_BYTES = 16

export type PreferenceLinks = Record<`${Purpose}Url`, string>

/** Links that are computed on first use, and were computed already. */
const COMPUTED = Symbol('computed links')

/** The links that an email may contain: a link that nothing has asked for is in none of its parts. */
export const linksInUse = (links: PreferenceLinks & { [COMPUTED]?: Partial<PreferenceLinks> }): Partial<PreferenceLinks> =>
  links[COMPUTED] ?? links

/** The three links of a contact in an email. Computed on first use, because most emails show none. */
export const preferenceLinks = (secrets: Secrets, publicUrl: string, owner: LinkOwner): PreferenceLinks => {
  const links: Partial<PreferenceLinks> = {}
  const link = (purpose: Purpose) => {
    links[`${purpose}Url`] ??= `${publicUrl}${preferencePath(secrets, purpose, owner)}`
    return links[`${purpose}Url`]!
  }
  const all = {
    [COMPUTED]: links,
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
  return all
}

export const preferencePath = (secrets: Secrets, purpose: Purpose, owner: LinkOwner) => `/${purpose}/${writeToken(secrets, purpose, owner)}`

/** The signature covers the characters and the purpose, so that neither another encoding of the same bytes nor another use is valid. */
function writeToken(secrets: Secrets, purpose: Purpose, { projectId, contactId, emailId = NIL_ID }: LinkOwner) {
  const payload = Buffer.from(`0${VERSION}${projectId}${contactId}${emailId}`.replaceAll('-', ''), 'hex').toString('base64url')
  return payload + secrets.sign('preference-link', `${purpose} ${payload}`)
}

/** The owner of the link; undefined for a token that was not issued for this purpose. */
export function readPreferenceToken(secrets: Secrets, purpose: Purpose, token: string): LinkOwner | undefined {
  const payload = token.slice(0, -SIGNATURE_LENGTH)
  if (!secrets.isSigned('preference-link', `${purpose} ${payload}`, token.slice(-SIGNATURE_LENGTH))) return undefined
  const bytes = Buffer.from(payload, 'base64url')
  if (bytes[0] !== VERSION) return undefined
  const emailId = readId(bytes, 2)
  return { projectId: readId(bytes, 0), contactId: readId(bytes, 1), ...(emailId === NIL_ID ? {} : { emailId }) }
}

const readId = (bytes: Buffer, index: number) => uuidFromHex(bytes.toString('hex', 1 + index * ID_BYTES, 1 + (index + 1) * ID_BYTES))
