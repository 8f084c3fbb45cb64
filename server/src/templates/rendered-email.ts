import { MAX_SUBJECT } from './language/limits.ts'
import type { Reference } from './language/prepare.ts'

export type TemplateSource = { subject: string; body: string }

export type Rendered = { ok: true; subject: string; html: string } | { ok: false; reason: string }

export type SyntaxProblem = { field: 'subject' | 'body'; message: string; line: number; column: number }

export type Inspection = { problems: SyntaxProblem[]; references: Reference[] }

export const describeProblem = ({ message, line, column }: SyntaxProblem) => `Line ${line}, column ${column}: ${message}`

/** Why a mail could not be rendered, for the person who wrote the template. */
export const RENDER_FAILURES = {
  time: 'Rendering took longer than 250 ms.',
  memory: 'Rendering used too much memory.',
  output: 'The rendered mail is longer than 5 million characters.',
  subject: 'The rendered subject is longer than 998 characters.',
  text: 'Converting the HTML to text took longer than 2 s.',
} as const

/** A value must not end the line of the header it stands in. */
export function finishRendering(mail: { subject: string; html: string }): Rendered {
  const subject = mail.subject.replace(/[\r\n]+/g, '')
  return subject.length > MAX_SUBJECT ? { ok: false, reason: RENDER_FAILURES.subject } : { ok: true, ...mail, subject }
}

/** In `progress`, before the first recipient. */
export const CONVERTING = -3
export const WAITING = -2
export const COMPILING = -1
