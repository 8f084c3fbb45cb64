/** What a message consists of, for a person who looks at it. */
export type ReadMessage = {
  headers: { name: string; value: string }[]
  html: string | null
  text: string | null
  attachments: ReadAttachment[]
}
type ReadAttachment = { filename: string; contentType: string; bytes: number; inline: boolean }
type Header = { name: string; value: string }

const EMPTY_LINE = Buffer.from('\r\n\r\n')
const CRLF = Buffer.from('\r\n')
/** Of our messages: mixed, related, alternative, and the parts in it. */
const MAX_DEPTH = 4
/** Ten attachments, and the parts around them. */
const MAX_PARTS = 100
/** Length of a line of base64 with its line break. */
const LINE = 78

/**
 * Reads a message that `compose` has built. Not for messages of others. Takes the bytes as they are, and decodes only texts: an attachment
 * may have 30 MB.
 */
export function readComposed(message: Buffer): ReadMessage {
  const read: ReadMessage = { headers: [], html: null, text: null, attachments: [] }
  const { headers } = readPart(message, read, 0)
  return { ...read, headers: headers.map(({ name, value }) => ({ name, value: decodeWords(value) })) }
}

function readPart(bytes: Buffer, into: ReadMessage, depth: number): { headers: Header[] } {
  const { headers, body } = splitHead(bytes)
  const type = headerOf(headers, 'content-type')
  const boundary = /^multipart\/.*?boundary="([^"]+)"/i.exec(type)?.[1]
  if (boundary && depth < MAX_DEPTH) for (const part of splitParts(body, boundary)) readPart(part, into, depth + 1)
  else if (!boundary) readLeaf({ headers, type, body }, into)
  return { headers }
}

function readLeaf({ headers, type, body }: { headers: Header[]; type: string; body: Buffer }, into: ReadMessage) {
  const disposition = headerOf(headers, 'content-disposition')
  const kind = type.split(';')[0]!.trim().toLowerCase()
  if (disposition)
    into.attachments.push({
      filename: filenameOf(disposition),
      contentType: kind,
      bytes: decodedLength(body),
      inline: disposition.startsWith('inline'),
    })
  else if (kind === 'text/html') into.html ??= decodeText(headers, body)
  else if (kind === 'text/plain') into.text ??= decodeText(headers, body)
}

function splitHead(bytes: Buffer) {
  const end = bytes.indexOf(EMPTY_LINE)
  const head = end === -1 ? bytes : bytes.subarray(0, end)
  // A line that starts with a space continues the line before it.
  const lines = head
    .toString('utf8')
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
  const headers = lines.flatMap((line) => {
    const colon = line.indexOf(':')
    return colon > 0 ? { name: line.slice(0, colon), value: line.slice(colon + 1).trim() } : []
  })
  return { headers, body: end === -1 ? Buffer.alloc(0) : bytes.subarray(end + EMPTY_LINE.length) }
}

const headerOf = (headers: Header[], wanted: string) => headers.find(({ name }) => name.toLowerCase() === wanted)?.value ?? ''

/** The bytes between the boundaries, which cannot occur in a part. */
function splitParts(body: Buffer, boundary: string): Buffer[] {
  const mark = Buffer.from(`--${boundary}`)
  const parts: Buffer[] = []
  let at = body.indexOf(mark)
  while (at !== -1 && parts.length < MAX_PARTS) {
    const start = at + mark.length + CRLF.length
    at = body.indexOf(mark, start)
    if (at !== -1) parts.push(body.subarray(start, at))
  }
  return parts
}

function decodeText(headers: Header[], body: Buffer) {
  const isQuoted = headerOf(headers, 'content-transfer-encoding').toLowerCase() === 'quoted-printable'
  const text = isQuoted ? decodeQuoted(body.toString('latin1')) : body.toString('utf8')
  return text.replaceAll('\r\n', '\n').replace(/\n$/, '')
}

const decodeQuoted = (text: string) =>
  Buffer.from(
    text.replace(/=\r\n/g, '').replace(/=([0-9A-F]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString()

/** Encoded words of RFC 2047. The space between two of them is not part of the text. */
const decodeWords = (value: string) =>
  value
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/(?:=\?utf-8\?[qb]\?[^?\s]*\?=)+/gi, (words) =>
      Buffer.concat([...words.matchAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi)].map(([, kind, text]) => decodeWord(kind!, text!))).toString(),
    )

const decodeWord = (kind: string, text: string) =>
  kind.toLowerCase() === 'b' ? Buffer.from(text, 'base64') : Buffer.from(decodeQuoted(text.replaceAll('_', ' ')))

/** In quotes, or percent-encoded in pieces (RFC 2231). */
function filenameOf(disposition: string) {
  const quoted = /filename="((?:[^"\\]|\\.)*)"/.exec(disposition)?.[1]
  if (quoted !== undefined) return quoted.replace(/\\(.)/g, '$1')
  const pieces = [...disposition.matchAll(/filename\*(?:\d+\*)?=([^;\s]*)/g)].map(([, piece]) => piece!)
  try {
    return decodeURIComponent(pieces.join('').replace(/^UTF-8''/i, ''))
  } catch {
    return pieces.join('')
  }
}

/** Bytes of a file, from the length of its base64 lines. */
function decodedLength(body: Buffer) {
  let end = body.length
  while (end > 0 && (body[end - 1] === 13 || body[end - 1] === 10)) end--
  const characters = end - 2 * Math.floor(end / LINE)
  const padding = body[end - 1] === 61 ? (body[end - 2] === 61 ? 2 : 1) : 0
  return Math.max(0, Math.floor((characters * 3) / 4) - padding)
}
