import { uuidFromHex } from '../../../lib/id.ts'
import { type Secrets, SIGNATURE_LENGTH } from '../../../lib/secrets.ts'

/** The email an open belongs to; for a click also the link and its target. */
export type OpenedEmail = { projectId: string; emailId: string }
export type ClickedLink = OpenedEmail & { link: number; target: string }

/** Index of the invisible link, which only machines follow. It leads nowhere. */
export const TRAP = 0

const VERSION = 1
/** Version, project id and email id: 33 bytes, so that the rest starts at a base64 character of its own. */
const EMAIL_LENGTH = 44
const LINK_BYTES = 2

/**
 * Links of bodies that are encoded in advance: the email is signed once for all of its links, each target once for all emails of its content. So a
 * link fits only emails of its content, which the end of the content's id stands for: 39 bytes, again without a rest in base64.
 */
const SHARED_VERSION = 2
const SHARED_EMAIL_LENGTH = 52
const CONTENT_DIGITS = 12

export const TOKEN_LENGTHS = { email: SHARED_EMAIL_LENGTH + SIGNATURE_LENGTH, open: EMAIL_LENGTH + SIGNATURE_LENGTH }

type EmailOfContent = OpenedEmail & { contentId: string }

/** Start of the tokens of all links of an email. */
export function sharedEmailToken(secrets: Secrets, { projectId, emailId, contentId }: EmailOfContent) {
  const hex = `0${SHARED_VERSION}${projectId}${emailId}`.replaceAll('-', '') + contentId.slice(-CONTENT_DIGITS)
  const email = Buffer.from(hex, 'hex').toString('base64url')
  return email + secrets.sign('click-token', email)
}

/** The rest of a token: the link and its target. */
export function sharedTargetToken(secrets: Secrets, contentId: string, link: number, target: string) {
  const payload = linkBytes(link, target).toString('base64url')
  return payload + secrets.sign('click-target', contentId.slice(-CONTENT_DIGITS) + payload)
}

function readSharedToken(secrets: Secrets, token: string): ClickedLink | undefined {
  const email = verified(secrets, 'click-token', token.slice(0, TOKEN_LENGTHS.email))
  const payload = token.slice(TOKEN_LENGTHS.email, -SIGNATURE_LENGTH)
  if (email?.length !== SHARED_EMAIL_LENGTH || !payload) return undefined
  const hex = Buffer.from(email, 'base64url').toString('hex')
  if (!secrets.isSigned('click-target', hex.slice(-CONTENT_DIGITS) + payload, token.slice(-SIGNATURE_LENGTH))) return undefined
  const ref = readEmailRef(email, SHARED_VERSION)
  return ref && { ...ref, ...readLink(Buffer.from(payload, 'base64url')) }
}

function linkBytes(link: number, target: string) {
  const bytes = Buffer.allocUnsafe(LINK_BYTES + Buffer.byteLength(target))
  bytes.writeUInt16BE(link)
  bytes.write(target, LINK_BYTES)
  return bytes
}

const readLink = (bytes: Buffer) => ({ link: bytes.readUInt16BE(), target: bytes.toString('utf8', LINK_BYTES) })

/** Signed tokens for the tracking URLs of one email. Self-contained, so that a request needs no lookup, and impossible to forge. */
export function tokensFor(secrets: Secrets, { projectId, emailId }: OpenedEmail) {
  const email = Buffer.from(`0${VERSION}${projectId}${emailId}`.replaceAll('-', ''), 'hex').toString('base64url')
  return {
    open: () => email + secrets.sign('open-token', email),
    click(link: number, target: string) {
      const payload = email + linkBytes(link, target).toString('base64url')
      return payload + secrets.sign('click-token', payload)
    },
  }
}

export function readOpenToken(secrets: Secrets, token: string): OpenedEmail | undefined {
  const payload = verified(secrets, 'open-token', token)
  return payload?.length === EMAIL_LENGTH ? readEmailRef(payload) : undefined
}

export function readClickToken(secrets: Secrets, token: string): ClickedLink | undefined {
  if (Buffer.from(token.slice(0, 2), 'base64url')[0] === SHARED_VERSION) return readSharedToken(secrets, token)
  const payload = verified(secrets, 'click-token', token)
  if (payload === undefined || payload.length <= EMAIL_LENGTH) return undefined
  const email = readEmailRef(payload)
  return email && { ...email, ...readLink(Buffer.from(payload.slice(EMAIL_LENGTH), 'base64url')) }
}

/** The payload of a valid token. The signature covers the characters, so that no other encoding of the same bytes is valid. */
function verified(secrets: Secrets, purpose: 'open-token' | 'click-token', token: string) {
  const payload = token.slice(0, -SIGNATURE_LENGTH)
  return secrets.isSigned(purpose, payload, token.slice(-SIGNATURE_LENGTH)) ? payload : undefined
}

function readEmailRef(payload: string, version = VERSION): OpenedEmail | undefined {
  const hex = Buffer.from(payload.slice(0, EMAIL_LENGTH), 'base64url').toString('hex')
  if (Number.parseInt(hex.slice(0, 2), 16) !== version) return undefined
  return { projectId: uuidFromHex(hex.slice(2, 34)), emailId: uuidFromHex(hex.slice(34)) }
}
