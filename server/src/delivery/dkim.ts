import { createHash, type KeyObject, sign } from 'node:crypto'
import type { Composed } from './compose.ts'

/** Signed when present. From twice: then nobody can add a second one. The last two are what one-click unsubscribing rests on. */
const SIGNED = [
  'from',
  'from',
  'to',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'in-reply-to',
  'references',
  'list-id',
  'list-unsubscribe',
  'list-unsubscribe-post',
]

export type DkimKey = { domain: string; selector: string; key: KeyObject }

/** The DKIM-Signature header of a mail (RFC 6376), relaxed in header and body. */
export function dkimSignature({ head, body }: Composed, { domain, selector, key }: DkimKey, now: Date) {
  const fields = readFields(head)
  const names = SIGNED.filter((name) => fields.has(name))
  const tags = [
    'v=1',
    'a=rsa-sha256',
    'c=relaxed/relaxed',
    `d=${domain}`,
    `s=${selector}`,
    `t=${Math.floor(now.getTime() / 1000)}`,
    `h=${names.join(':')}`,
    `bh=${bodyHash(body)}`,
    'b=',
  ]
  const unsigned = `DKIM-Signature: ${tags.join(';\r\n ')}`
  const signature = sign('sha256', Buffer.from(canonicalHeaders(fields, names) + canonicalHeader(unsigned)), key)
  return `${unsigned}${signature.toString('base64').replace(/.{70}/g, '$&\r\n ')}\r\n`
}

/** The fields by lower-case name, each as it stands. */
function readFields(head: string) {
  const fields = new Map<string, string>()
  for (const field of head.split(/\r\n(?![ \t])/)) if (field) fields.set(field.slice(0, field.indexOf(':')).toLowerCase(), field)
  return fields
}

/** The second From stands for the one that is not there: it adds nothing to what is signed. */
const canonicalHeaders = (fields: Map<string, string>, names: string[]) =>
  [...new Set(names)].map((name) => `${canonicalHeader(fields.get(name)!)}\r\n`).join('')

function canonicalHeader(field: string) {
  const colon = field.indexOf(':')
  const value = field
    .slice(colon + 1)
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .trim()
  return `${field.slice(0, colon).toLowerCase()}:${value}`
}

function bodyHash(body: string) {
  const canonical = isCanonical(body) ? body : body.replace(/[ \t]{2,}|\t/g, ' ').replaceAll(' \r\n', '\r\n')
  let end = canonical.length
  while (canonical.endsWith('\r\n', end)) end -= 2
  // A composed body is ASCII.
  return createHash('sha256')
    .update(end === 0 ? '' : canonical.slice(0, end + 2), 'latin1')
    .digest('base64')
}

/** As most bodies are; one look is many times faster than replacing what is not there. */
const isCanonical = (body: string) => !/ [ \r]|\t/.test(body)
