import { type Secrets, SIGNATURE_LENGTH, sameBytes } from '../../lib/secrets.ts'

/** Which mail was opened; which of its links was followed, and to where. */
export type OpenedEmail = { projectId: string; emailId: string }
export type ClickedLink = OpenedEmail & { link: number; target: string }

/** The link that nobody sees. It leads nowhere. */
export const TRAP = 0

const VERSION = 1
/** Version, project and mail: 33 bytes, so that what follows begins with a letter of its own. */
const EMAIL_LENGTH = 44
const LINK_BYTES = 2

/** The addresses in one mail. They hold all they say, signed: nothing is looked up to answer them, and nobody can make one. */
export function tokensFor(secrets: Secrets, { projectId, emailId }: OpenedEmail) {
  const mail = Buffer.from(`0${VERSION}${projectId}${emailId}`.replaceAll('-', ''), 'hex').toString('base64url')
  return {
    open: () => mail + secrets.sign('open-token', mail),
    click(link: number, target: string) {
      const bytes = Buffer.allocUnsafe(LINK_BYTES + Buffer.byteLength(target))
      bytes.writeUInt16BE(link)
      bytes.write(target, LINK_BYTES)
      const said = mail + bytes.toString('base64url')
      return said + secrets.sign('click-token', said)
    },
  }
}

export function readOpenToken(secrets: Secrets, token: string): OpenedEmail | undefined {
  const said = verified(secrets, 'open-token', token)
  return said?.length === EMAIL_LENGTH ? readEmailRef(said) : undefined
}

export function readClickToken(secrets: Secrets, token: string): ClickedLink | undefined {
  const said = verified(secrets, 'click-token', token)
  if (said === undefined || said.length <= EMAIL_LENGTH) return undefined
  const bytes = Buffer.from(said.slice(EMAIL_LENGTH), 'base64url')
  const mail = readEmailRef(said)
  return mail && { ...mail, link: bytes.readUInt16BE(), target: bytes.toString('utf8', LINK_BYTES) }
}

/** The signature is over the letters themselves, so that no other spelling of the same bytes passes. */
function verified(secrets: Secrets, purpose: 'open-token' | 'click-token', token: string) {
  const said = token.slice(0, -SIGNATURE_LENGTH)
  const isOurs = sameBytes(Buffer.from(token.slice(-SIGNATURE_LENGTH)), Buffer.from(secrets.sign(purpose, said)))
  return isOurs ? said : undefined
}

function readEmailRef(said: string): OpenedEmail | undefined {
  const hex = Buffer.from(said.slice(0, EMAIL_LENGTH), 'base64url').toString('hex')
  if (Number.parseInt(hex.slice(0, 2), 16) !== VERSION) return undefined
  return { projectId: uuidFromHex(hex.slice(2, 34)), emailId: uuidFromHex(hex.slice(34)) }
}

export const uuidFromHex = (hex: string) =>
  [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
