import type { ComposedMessage } from '../../mime/compose.ts'
import { plainHeader } from '../../mime/encoding/encode.ts'
import { changeBodyHtml } from '../../mime/raw/body-html.ts'
import { hasField, readHead } from '../../mime/raw/head.ts'
import { recodeTo7bit } from '../../mime/raw/recode.ts'
import type { RawContent } from '../outbox/contents/content.ts'
import type { BuildRequest } from './build.ts'

/**
 * A message of SMTP submission: as it arrived, with our headers before its own. The same email gives the same bytes every time. `trackHtml`
 * changes the HTML of its body; undefined when it is not tracked.
 */
export function composeRaw(
  { email, returnPath, as7bit }: BuildRequest,
  { bytes }: RawContent,
  trackHtml: ((html: string) => string) | undefined,
): ComposedMessage {
  const tracked = trackHtml && changeBodyHtml(asBuffer(bytes), trackHtml)
  const message = tracked ?? asBuffer(bytes)
  const sent = as7bit ? recodeTo7bit(message) : message
  const head = readHead(sent)
  const has = (wanted: string) => hasField(sent, head, wanted)
  const added = [
    ...(has('date') ? [] : [plainHeader('Date', email.createdAt.toUTCString().replace('GMT', '+0000'))]),
    ...(has('message-id') ? [] : [plainHeader('Message-ID', `<${email.messageId}>`)]),
    plainHeader('X-Sterna-Id', email.id),
    ...(returnPath ? [plainHeader('X-Sterna-Return-Path', returnPath)] : []),
  ]
  const own = sent.toString('latin1', 0, head.end)
  return { head: added.join('') + own, body: endedLine(sent.toString('latin1', head.bodyStart)), encoding: 'latin1' }
}

/** An encoded part at the end may lack its line end, which every server would add and the signature would not have. */
const endedLine = (body: string) => (body === '' || body.endsWith('\r\n') ? body : `${body}\r\n`)

/** In a thread it is a plain array of bytes. */
const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength)
