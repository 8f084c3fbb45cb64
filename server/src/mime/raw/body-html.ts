import { decodedText } from './decode.ts'
import { encodeText, replacedPart } from './encode-part.ts'
import { headerOf } from './head.ts'
import { readStructured } from './header-text.ts'
import { type MimePart, readMimeTree } from './parts.ts'

/** Signed and encrypted messages: a changed part would not match its signature. */
const SEALED = /^(multipart\/(signed|encrypted)|application\/(x-)?pkcs7-mime|application\/pgp-.*)$/

/**
 * The message with the HTML of its body changed: the whole body, or that of a multipart/alternative, never an attachment. Undefined when it has
 * none that may be changed.
 */
export function changeBodyHtml(message: Buffer, change: (html: string) => string): Buffer | undefined {
  const tree = readMimeTree(message)
  const part = isSealed(tree) ? undefined : findBodyHtml(tree)
  if (!part) return undefined
  const html = change(decodedText(message, part))
  const changed = replacedPart(part, encodeText(Buffer.from(html)), 'text/html; charset=utf-8')
  return Buffer.concat([message.subarray(0, part.headStart), changed, message.subarray(part.end)])
}

const isSealed = ({ type, parts }: MimePart): boolean => SEALED.test(type) || parts.some(isSealed)

function findBodyHtml(part: MimePart): MimePart | undefined {
  if (part.type === 'text/html') return isAttached(part) ? undefined : part
  if (part.type === 'multipart/alternative') return part.parts.map(findBodyHtml).findLast((found) => found !== undefined)
  return part.type === 'multipart/mixed' || part.type === 'multipart/related' ? part.parts[0] && findBodyHtml(part.parts[0]) : undefined
}

const isAttached = ({ head }: MimePart) => readStructured(headerOf(head, 'content-disposition')).value === 'attachment'
