import { KB, MB } from '../../lib/text/units.ts'
import { decodedBody, decodedText } from './decode.ts'
import { decodeWords } from './encoded-words.ts'
import { fieldsOf, fieldValue, type Head, hasField, headerOf, MalformedMessage } from './head.ts'
import { readStructured } from './header-text.ts'
import { leavesOf, type MimePart, readMimeTree } from './parts.ts'

/** The parts of a message, for display. */
export type ReadMessage = {
  headers: { name: string; value: string }[]
  html: string | null
  text: string | null
  attachments: { filename: string; contentType: string; bytes: number; inline: boolean }[]
}

/** A longer text is shown as an attachment. */
const MAX_TEXT = 5 * MB
const MAX_ATTACHMENTS = 100
const MAX_HEADERS = 200
const MAX_HEADER = 2_000
const MAX_SHOWN_HEAD = 64 * KB

/** Reads a message of ours or of others. Decodes texts only: an attachment may have 30 MB. */
export function readMessage(message: Buffer): ReadMessage {
  const tree = readTree(message)
  const read: ReadMessage = { headers: headersOf(message, tree.head), html: null, text: null, attachments: [] }
  for (const part of leavesOf(tree)) readLeaf(message, part, read)
  return read
}

/** A message that is too much to read is shown as a single part, with the start of its header. */
function readTree(message: Buffer): MimePart {
  try {
    return readMimeTree(message)
  } catch (err) {
    if (!(err instanceof MalformedMessage)) throw err
    return readMimeTree(message.subarray(0, Math.min(MAX_SHOWN_HEAD, message.indexOf('\r\n\r\n') + 4)))
  }
}

function headersOf(message: Buffer, head: Head) {
  const headers: ReadMessage['headers'] = []
  for (const field of fieldsOf(message, head)) {
    if (headers.length === MAX_HEADERS) break
    const name = message.toString('latin1', field.start, field.start + field.name.length)
    headers.push({ name, value: decodeWords(fieldValue(message, field).slice(0, MAX_HEADER)) })
  }
  return headers
}

function readLeaf(message: Buffer, part: MimePart, into: ReadMessage) {
  const { type, parameters, head } = part
  const disposition = readStructured(headerOf(message, head, 'content-disposition'))
  const filename = disposition.parameters.get('filename') ?? parameters.get('name')
  const isShown = disposition.value !== 'attachment' && filename === undefined && part.end - part.start <= MAX_TEXT
  if (isShown && type === 'text/html' && into.html === null) into.html = shownText(message, part)
  else if (isShown && type === 'text/plain' && into.text === null) into.text = shownText(message, part)
  else if (into.attachments.length < MAX_ATTACHMENTS)
    into.attachments.push({
      filename: filename ?? '',
      contentType: type,
      bytes: decodedBody(message, part).length,
      inline: disposition.value === 'inline' || (disposition.value !== 'attachment' && hasField(message, head, 'content-id')),
    })
}

const shownText = (message: Buffer, part: MimePart) => decodedText(message, part).replaceAll('\r\n', '\n')
