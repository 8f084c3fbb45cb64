import type { SlottedHtml } from '../../mime/compiled/slotted-html.ts'
import { MAX_PREVIEW_TEXT, MAX_SUBJECT } from '../language/limits.ts'
import type { Reference, SourceField } from '../language/prepare.ts'

/** `isText`: the body is plain text, so values in it are not escaped. */
export type TemplateSource = { subject: string; previewText?: string | null | undefined; body: string; isText?: boolean }

export type RenderedEmail = {
  subject: string
  /** One line of plain text; empty when there is none. */
  previewText: string
  html: string
  /** The same HTML, if only its values differ between recipients. */
  slots?: SlottedHtml
}
/** `untried`: not rendered, because other emails with the same content ran out of time. */
export type Rendered = ({ ok: true } & RenderedEmail) | { ok: false; reason: string; untried?: boolean }

export type SyntaxProblem = { field: SourceField; message: string; line: number; column: number }

export type Inspection = { problems: SyntaxProblem[]; references: Reference[] }

export const describeProblem = ({ message, line, column }: SyntaxProblem) => `Line ${line}, column ${column}: ${message}`

/** Why an email could not be rendered, for the author of the template. */
export const RENDER_FAILURES = {
  time: 'Rendering took longer than 250 ms.',
  memory: 'Rendering used too much memory.',
  output: 'The rendered email is longer than 5 million characters.',
  subject: 'The rendered subject is longer than 998 characters.',
  text: 'Converting the HTML to text took longer than 2 s.',
} as const

/** Removes line breaks from the subject: a value must not end the header. Inboxes cut preview texts, so a long one is cut here. */
export function finishRendering(email: RenderedEmail): Rendered {
  const subject = email.subject.replace(/[\r\n]+/g, '')
  if (subject.length > MAX_SUBJECT) return { ok: false, reason: RENDER_FAILURES.subject }
  return { ok: true, ...email, subject, previewText: email.previewText && finishPreviewText(email.previewText) }
}

/** Never ends with half of a surrogate pair. */
const finishPreviewText = (text: string) =>
  text
    .slice(0, 4 * MAX_PREVIEW_TEXT)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_PREVIEW_TEXT)
    .replace(/[\ud800-\udbff]$/, '')

/** Values of `progress` other than the index of a recipient. */
export const CONVERTING = -3
export const WAITING = -2
export const COMPILING = -1
