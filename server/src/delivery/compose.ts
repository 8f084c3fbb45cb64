import { base64Lines, header, isPlain, mailbox, normaliseLines, parameter, plainHeader, quotedPrintable } from './encode.ts'

export type Mailbox = { name?: string | null; address: string }
export type Attachment = { filename: string; contentType: string; contentId: string | null; inline: boolean; content: Buffer }

/** Everything a mail consists of. Times and ids come from its row, so that composing it twice gives the same bytes. */
export type Mail = {
  id: string
  messageId: string
  date: Date
  from: Mailbox
  to: Mailbox
  replyTo: string | null
  subject: string
  html: string
  text: string
  /** The customer's own, checked when they were accepted. */
  headers: Record<string, string>
  attachments: Attachment[]
}

/** In bytes, encoded: what a receiver may be expected to take. */
export const MAX_MESSAGE = 40 * 1024 * 1024

/** Both with CRLF line ends; the header without the empty line after it. */
export type Composed = { head: string; body: string }

export function compose(mail: Mail): Composed {
  const content = withAttachments(mail, withImages(mail, textAndHtml(mail)))
  const own = Object.entries(mail.headers).map(([name, value]) => header(name, value))
  const replyTo = mail.replyTo && !hasHeader(mail.headers, 'reply-to') ? [plainHeader('Reply-To', mail.replyTo)] : []
  const head = [
    plainHeader('From', mailbox(mail.from)),
    plainHeader('To', mailbox(mail.to)),
    ...replyTo,
    header('Subject', mail.subject),
    plainHeader('Date', mail.date.toUTCString().replace('GMT', '+0000')),
    plainHeader('Message-ID', `<${mail.messageId}>`),
    plainHeader('X-Sterna-Id', mail.id),
    ...own,
    plainHeader('MIME-Version', '1.0'),
    content.head,
  ]
  return { head: head.join(''), body: content.body }
}

const hasHeader = (headers: Record<string, string>, name: string) => Object.keys(headers).some((key) => key.toLowerCase() === name)

type Part = { head: string; body: string }

const textAndHtml = ({ id, text, html }: Mail): Part =>
  multipart('alternative', `${id}-a`, [textPart('plain', text), textPart('html', html)])

function textPart(kind: 'plain' | 'html', given: string): Part {
  const text = normaliseLines(given)
  const plain = isPlain(text)
  return {
    head: `Content-Type: text/${kind}; charset=utf-8\r\nContent-Transfer-Encoding: ${plain ? '7bit' : 'quoted-printable'}\r\n`,
    body: `${plain ? text : quotedPrintable(text)}\r\n`,
  }
}

function withImages({ id, attachments }: Mail, content: Part): Part {
  const inline = attachments.filter((attachment) => attachment.inline)
  return inline.length ? multipart('related', `${id}-r`, [content, ...inline.map(filePart)]) : content
}

function withAttachments({ id, attachments }: Mail, content: Part): Part {
  const files = attachments.filter((attachment) => !attachment.inline)
  return files.length ? multipart('mixed', `${id}-m`, [content, ...files.map(filePart)]) : content
}

function filePart({ filename, contentType, contentId, inline, content }: Attachment): Part {
  const head = [
    plainHeader('Content-Type', `${contentType}; ${parameter('name', filename)}`),
    'Content-Transfer-Encoding: base64\r\n',
    plainHeader('Content-Disposition', `${inline ? 'inline' : 'attachment'}; ${parameter('filename', filename)}`),
    ...(contentId ? [`Content-ID: <${contentId}>\r\n`] : []),
  ]
  return { head: head.join(''), body: base64Lines(content) }
}

/** The boundary is made of the mail's id: it cannot stand in an encoded body, whose lines never begin like it. */
function multipart(kind: 'alternative' | 'related' | 'mixed', name: string, parts: Part[]): Part {
  const boundary = `=_${name}`
  const body = parts.map((part) => `--${boundary}\r\n${part.head}\r\n${part.body}`).join('')
  return { head: `Content-Type: multipart/${kind}; boundary="${boundary}"\r\n`, body: `${body}--${boundary}--\r\n` }
}
