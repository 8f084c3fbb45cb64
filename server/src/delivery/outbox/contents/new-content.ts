import type { CamelRow } from '../../../db/columns.ts'
import type { EmailType } from '../../rules/may-send.ts'
import type { RawContent } from './content.ts'

type ContentColumn = 'projectId' | 'id' | 'subject' | 'body' | 'fromAddress' | 'fromName' | 'replyTo' | 'templateId'
export type NewContent = Pick<CamelRow<'contents'>, ContentColumn> & {
  type: EmailType
  /** Shown by inboxes beside the subject, hidden in the email. */
  previewText?: string | null
  headers: Record<string, string>
  /** The version of the template. */
  templateVersion?: number | null
  /** A message that is sent as it is, instead of a body. */
  raw?: RawContent & { bytes: Buffer }
}
