import type { Report } from '../delivery/feedback/dsn.ts'

/** A message as a thread has read it: short, however long it was, and plain text that a database takes. */
export type ParsedMessage = {
  messageId: string | null
  subject: string
  from: { name: string; address: string } | null
  replyTo: string | null
  text: string | null
  textTruncated: boolean
  html: string | null
  htmlTruncated: boolean
  /** By lower-case name; of several with one name the first. */
  headers: Record<string, string>
  attachments: { filename: string | null; contentType: string; size: number }[]
  report: Report | null
  /** The same for a message that is sent again; different messages under one Message-ID differ in it. */
  fingerprint: string
}
