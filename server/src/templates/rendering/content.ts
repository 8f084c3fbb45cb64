import { z } from 'zod'
import { AppError, invalid } from '../../lib/errors/errors.ts'
import { senderNameProblem } from '../../lib/text/address.ts'
import { MAX_PREVIEW_TEXT, MAX_SOURCE, MAX_SUBJECT } from '../language/limits.ts'
import { checkTemplate } from './render.ts'
import { describeProblem, type TemplateSource } from './rendered-email.ts'

const ONE_LINE = /^[^\p{Cc}\u2028\u2029]*$/u

/** Subject and body as template sources, for every request that has them. */
export const Subject = z
  .string()
  .min(1)
  .max(MAX_SUBJECT)
  .regex(/^[^\r\n\v\f\u0085\u2028\u2029]*$/, 'Must not contain line breaks.')
export const PreviewText = z
  .string()
  .max(MAX_PREVIEW_TEXT)
  .describe(
    'Plain text that inboxes show beside the subject. Takes variables like the subject; hidden in the email, and not in its text part.',
  )
export const Body = z.string().min(1).max(MAX_SOURCE)
export const SenderName = z.string().trim().max(255).regex(ONE_LINE, 'Must not contain line breaks or control characters.')

export const SENDER_NAME_PROBLEMS = {
  address: 'Must not show another email address.',
  direction: 'Must not contain characters that change the direction of text.',
}

/** Fails when the display name of a sender could pass for another one. */
export function assertSenderName({ from, fromName }: { from?: string | null | undefined; fromName?: string | null | undefined }) {
  const problem = senderNameProblem(fromName, from)
  if (problem) invalid('fromName', SENDER_NAME_PROBLEMS[problem])
}

/** Fails with every invalid field and the position of its error. */
export async function assertRenderable(projectId: string, { subject = '', previewText = null, body = '' }: Partial<TemplateSource>) {
  const problems = await checkTemplate({ subject, previewText, body }, projectId)
  if (!problems.length) return
  const errors = problems.map((problem) => ({ field: problem.field, message: describeProblem(problem), code: 'custom' as const }))
  throw new AppError('VALIDATION_ERROR', { errors })
}
