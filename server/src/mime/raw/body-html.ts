import { decodedText } from './decode.ts'
import { encodeText, replacedPart } from './encode-part.ts'
import { headerOf, MalformedMessage } from './head.ts'
import { readStructured } from './header-text.ts'
import { type MimePart, readMimeTree } from './parts.ts'

/** Signed and encrypted messages: a changed part would not match its signature. */
const SEALED = /^(multipart\/(signed|encrypted)|application\/(x-)?pkcs7-mime|application\/pgp-.*)$/

/**
 * The message with the HTML of its body changed: the whole body, or that of a multipart/alternative, never an attachment. Undefined when it has
 * none that may be changed.
 */
export function changeBodyHtml(message: Buffer, change: (html: string) => string): Buffer | undefined {
  const part = findChangeable(message)
  if (!part) return undefined
  const html = change(decodedText(message, part))
  const changed = replacedPart(message, part, encodeText(Buffer.from(html)), 'text/html; charset=utf-8')
  return Buffer.concat([message.subarray(0, part.head.start), changed, message.subarray(part.end)])
}

/** None in a message that is too much to read: it is sent as it is. */
function findChangeable(message: Buffer) {
  try {
    const tree = readMimeTree(message)
    return isSealed(tree) ? undefined : findBodyHtml(message, tree)
  } catch (err) {
    if (err instanceof MalformedMessage) return undefined
    throw err
  }
}

const isSealed = ({ type, parts }: MimePart): boolean => SEALED.test(type) || parts.some(isSealed)

function findBodyHtml(message: Buffer, part: MimePart): MimePart | undefined {
  const find = (inner: MimePart) => findBodyHtml(message, inner)
  if (part.type === 'text/html') return isAttached(message, part) ? undefined : part
  if (part.type === 'multipart/alternative') return part.parts.map(find).findLast((found) => found !== undefined)
  return part.type === 'multipart/mixed' || part.type === 'multipart/related' ? part.parts[0] && find(part.parts[0]) : undefined
}

const isAttached = (message: Buffer, { head }: MimePart) =>
  readStructured(headerOf(message, head, 'content-disposition')).value === 'attachment'
