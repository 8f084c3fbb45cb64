import { MAX_SUBJECT } from './language/limits.ts'
import type { Reference } from './language/prepare.ts'

export type TemplateSource = { subject: string; body: string }

export type Rendered = { ok: true; subject: string; html: string } | { ok: false; reason: string }

export type SyntaxProblem = { field: 'subject' | 'body'; message: string; line: number; column: number }

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

/** Removes line breaks from the subject: a value must not end the header. */
export function finishRendering(email: { subject: string; html: string }): Rendered {
  const subject = email.subject.replace(/[\r\n]+/g, '')
  return subject.length > MAX_SUBJECT ? { ok: false, reason: RENDER_FAILURES.subject } : { ok: true, ...email, subject }
}

/** Values of `progress` other than the index of a recipient. */
export const CONVERTING = -3
export const WAITING = -2
export const COMPILING = -1
