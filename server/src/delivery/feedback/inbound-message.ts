/** The machine-readable part of a multipart/report message, and the header of the message it reports on, if it contains it. */
export type MessageReport = { is: 'delivery-status' | 'feedback-report' | 'other'; fields: string; original: string }

/** The content of a received message: truncated to bounded sizes, and only text that PostgreSQL can store. */
export type ParsedMessage = {
  messageId: string | null
  subject: string
  from: { name: string; address: string } | null
  replyTo: string | null
  text: string | null
  textTruncated: boolean
  html: string | null
  htmlTruncated: boolean
  /** By lower-case name; the first where a name repeats. */
  headers: Record<string, string>
  attachments: { filename: string | null; contentType: string; size: number }[]
  report: MessageReport | null
  /** Equal when a message is sent again; different for different messages with one Message-ID. */
  fingerprint: string
}

/** A message received by SMTP: the sender of its envelope (empty for bounces), its bytes and its content. */
export type InboundMessage = { sender: string; message: Buffer; parsed: ParsedMessage }

/** The outcome of a received message, for the log. */
export type InboundOutcome = 'reported' | 'received' | 'repeated' | 'ignored'
