import { hash, type KeyObject, sign } from 'node:crypto'
import type { ComposedMessage } from './compose.ts'

/**
 * Oversigned: listed once more than they occur, also if they do not occur at all. Otherwise a further one could be added without breaking the
 * signature, and some mail programs would show it instead of ours.
 */
const SIGNED = [
  'from',
  'to',
  'cc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'in-reply-to',
  'references',
]
/**
 * Oversigned only where they occur: mailing lists add their own to a message without them, which must not break the signature. Gmail reads a
 * Feedback-ID only if it is signed.
 */
const SIGNED_IF_PRESENT = ['list-id', 'list-unsubscribe', 'list-unsubscribe-post', 'feedback-id']

export type DkimKey = { domain: string; selector: string; key: KeyObject }

/** The DKIM-Signature header of a message (RFC 6376), relaxed/relaxed. */
export function dkimSignature({ head, body, encoding }: ComposedMessage, { domain, selector, key }: DkimKey, now: Date) {
  const fields = readFields(head)
  const names = [...SIGNED, ...SIGNED_IF_PRESENT.filter((name) => fields.has(name))]
  const overSigned = names.flatMap((name) => [...(fields.get(name) ?? []), ''].map(() => name))
  const tags = [
    'v=1',
    'a=rsa-sha256',
    'c=relaxed/relaxed',
    `d=${domain}`,
    `s=${selector}`,
    `t=${Math.floor(now.getTime() / 1000)}`,
    `h=${foldNames(overSigned)}`,
    `bh=${bodyHash(body)}`,
    'b=',
  ]
  const unsigned = `DKIM-Signature: ${tags.join(';\r\n ')}`
  const signature = sign('sha256', Buffer.from(canonicalHeaders(fields, names) + canonicalHeader(unsigned), encoding), key)
  return `${unsigned}${signature.toString('base64').replace(/.{70}/g, '$&\r\n ')}\r\n`
}

/** Folds the list of names, which is too long for one header line. */
function foldNames(names: string[]) {
  const lines = ['']
  for (const name of names) {
    if (lines.at(-1)!.length + name.length > MAX_NAMES_LINE) lines.push('')
    lines[lines.length - 1] += `${name}:`
  }
  return lines.join('\r\n  ').slice(0, -1)
}

const MAX_NAMES_LINE = 70

/** Raw header fields by lower-case name, last to first: the order in which a verifier takes them. */
function readFields(head: string) {
  const fields = new Map<string, string[]>()
  for (const field of head.split(/\r\n(?![ \t])/).reverse()) {
    if (!field) continue
    const name = field.slice(0, field.indexOf(':')).toLowerCase()
    fields.set(name, [...(fields.get(name) ?? []), field])
  }
  return fields
}

/** An oversigned name adds nothing to the signed text. */
const canonicalHeaders = (fields: Map<string, string[]>, names: string[]) =>
  names.flatMap((name) => (fields.get(name) ?? []).map((field) => `${canonicalHeader(field)}\r\n`)).join('')

function canonicalHeader(field: string) {
  const colon = field.indexOf(':')
  const value = field
    .slice(colon + 1)
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    // Not `trim`: a byte of a character may look like a space of Unicode.
    .replace(/^ | $/g, '')
  return `${field.slice(0, colon).toLowerCase()}:${value}`
}

function bodyHash(body: string | Buffer) {
  if (typeof body !== 'string') return hash('sha256', body, 'base64')
  const canonical = isCanonical(body) ? body : body.replace(/[ \t]{2,}|\t/g, ' ').replaceAll(' \r\n', '\r\n')
  let end = canonical.length
  while (canonical.endsWith('\r\n', end)) end -= 2
  // A body has one byte per character.
  return hash('sha256', Buffer.from(end === 0 ? '' : canonical.slice(0, end + 2), 'latin1'), 'base64')
}

/** True for most bodies; the test is many times faster than a replacement without a match. */
const isCanonical = (body: string) => !/ [ \r]|\t/.test(body)
