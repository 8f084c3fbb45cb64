import { z } from 'zod'
import { Data } from '../contacts/data.ts'
import { Address } from '../http/validate.ts'
import { readAddress } from '../lib/address.ts'

const MAX_RECIPIENTS = 1_000
const MAX_HEADERS = 50
const MAX_NAME = 255
const MB = 1024 * 1024
/** What a receiver takes as a whole, encoded. */
const MAX_MESSAGE = 40 * MB

type Issue = (path: (string | number)[], message: string, code?: string) => void

/** One mailbox, as text or with a name. */
function readMailbox(given: unknown, path: (string | number)[], issue: Issue): { name: string | null; email: string } | undefined {
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given)
  const { email, name } = isObject ? (given as { email?: unknown; name?: unknown }) : { email: given, name: undefined }
  const at = isObject ? [...path, 'email'] : path
  if (email === undefined) return void issue(at, 'Required.', 'required')
  if (typeof email !== 'string') return void issue(at, 'Expected string.', 'invalid_type')
  const address = email.length <= 320 ? readAddress(email) : undefined
  if (!address) return void issue(at, 'Not a valid email address.', 'invalid_string')
  if (name === undefined || name === null || name === '') return { name: null, email: address }
  if (typeof name !== 'string') return void issue([...path, 'name'], 'Expected string.', 'invalid_type')
  const problem = problemOfName(name)
  return problem ? void issue([...path, 'name'], problem, 'invalid_string') : { name, email: address }
}

/** A name that shows another address is made to deceive whoever reads it. */
function problemOfName(name: string) {
  if (name.length > MAX_NAME) return `Must have at most ${MAX_NAME} characters.`
  if (/\p{Cc}/u.test(name)) return 'Must be one line of text.'
  return /[^\s@]+@[^\s@]+\.[^\s@]+/.test(name) ? 'Must not contain an email address.' : undefined
}

const mailboxSchema = {
  anyOf: [
    { type: 'string', format: 'email' },
    { type: 'object', properties: { name: { type: 'string' }, email: { type: 'string', format: 'email' } }, required: ['email'] },
  ],
}

const reporter =
  (context: z.core.$RefinementCtx): Issue =>
  (path, message, code = 'custom') =>
    context.addIssue({ code: 'custom', path, message, params: { code }, input: undefined })

const Recipients = z
  .unknown()
  .meta({ anyOf: [...mailboxSchema.anyOf, { type: 'array', items: mailboxSchema, minItems: 1, maxItems: MAX_RECIPIENTS }] })
  .transform((given, context) => {
    const issue = reporter(context)
    const list = Array.isArray(given) ? given : [given]
    if (list.length < 1) issue([], 'Give at least one recipient.', 'too_small')
    if (list.length > MAX_RECIPIENTS) {
      issue([], `At most ${MAX_RECIPIENTS} recipients.`, 'too_big')
      return z.NEVER
    }
    const read = list.map((each, index) => readMailbox(each, Array.isArray(given) ? [index] : [], issue))
    return read.filter((each) => each !== undefined)
  })

const Sender = z
  .unknown()
  .meta(mailboxSchema)
  .transform((given, context) => readMailbox(given, [], reporter(context)) ?? z.NEVER)

/** Addressing and structure are ours. Anything else a customer may say. */
const OURS =
  /^(from|sender|to|cc|bcc|return-path|received|dkim-signature|date|message-id|mime-version|content-.*|resent-.*|x-ses-.*|x-sterna-.*)$/i
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,76}$/

const Headers = z.record(z.string(), z.string().max(998)).superRefine((headers, context) => {
  const issue = reporter(context)
  const names = Object.keys(headers)
  if (names.length > MAX_HEADERS) issue([], `At most ${MAX_HEADERS} headers.`, 'too_big')
  const seen = new Set<string>()
  for (const name of names.slice(0, MAX_HEADERS)) {
    if (!TOKEN.test(name)) issue([name.slice(0, 80)], 'Not a header name.', 'invalid_string')
    else if (OURS.test(name)) issue([name], 'This header is set by the service.', 'custom')
    else if (seen.has(name.toLowerCase())) issue([name], 'Given twice.', 'custom')
    else if (/[\r\n\0]/.test(headers[name]!)) issue([name], 'Must not contain line breaks.', 'invalid_string')
    seen.add(name.toLowerCase())
  }
})

const oneLine = (text: string) => !/[\r\n\0]/.test(text)

const AttachmentBody = z
  .object({
    filename: z
      .string()
      .min(1)
      .max(255)
      .regex(/^[^\p{Cc}"\\/]+$/u, 'Must be a file name without quotes, slashes or line breaks.'),
    content: z.string().regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, 'Must be base64.'),
    contentType: z
      .string()
      .max(127)
      .regex(/^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*$/, 'Must be a MIME type.'),
    contentId: z
      .string()
      .max(127)
      .regex(/^[A-Za-z0-9._@+-]+$/, 'Letters, digits and . _ @ + - only.')
      .optional(),
    disposition: z.enum(['attachment', 'inline']).default('attachment'),
  })
  .refine(({ disposition, contentId }) => disposition !== 'inline' || contentId !== undefined, {
    path: ['contentId'],
    message: 'Required for inline attachments.',
    params: { code: 'required' },
  })

const decodedSize = (base64: string) => (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0)

export const sendBody = ({ maxAttachments, maxAttachmentMb }: { maxAttachments: number; maxAttachmentMb: number }) =>
  z
    .object({
      to: Recipients,
      subject: z
        .string()
        .min(1)
        .max(998)
        .refine(oneLine, { message: 'Must be one line.', params: { code: 'invalid_string' } })
        .optional(),
      body: z.string().min(1).optional(),
      template: z.uuid().optional(),
      from: Sender.optional(),
      name: z
        .string()
        .max(MAX_NAME)
        .refine(oneLine, { message: 'Must be one line.', params: { code: 'invalid_string' } })
        .optional(),
      subscribed: z.boolean().optional(),
      data: Data.nullish(),
      headers: Headers.optional(),
      reply: Address.optional(),
      attachments: z.array(AttachmentBody).max(maxAttachments).optional(),
    })
    .superRefine(({ template, subject, body, from, attachments = [] }, context) => {
      const issue = reporter(context)
      if (!template && subject === undefined) issue(['subject'], 'Required without a template.', 'required')
      if (!template && body === undefined) issue(['body'], 'Required without a template.', 'required')
      if (!template && from === undefined) issue(['from'], 'Required without a template.', 'required')
      const bytes = attachments.reduce((sum, { content }) => sum + decodedSize(content), 0)
      if (bytes > maxAttachmentMb * MB) issue(['attachments'], `Attachments have at most ${maxAttachmentMb} MB together.`, 'too_big')
      const encoded = attachments.reduce((sum, { content }) => sum + content.length * 1.03, 0) + (body?.length ?? 0) * 2
      if (encoded > MAX_MESSAGE) issue(['body'], 'The whole mail would have more than 40 MB.', 'too_big')
    })

export type SendBody = z.output<ReturnType<typeof sendBody>>
