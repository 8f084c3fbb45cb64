import { z } from 'zod'
import { Data, type DataPatch } from '../contacts/data.ts'
import { MAX_MESSAGE } from '../delivery/compose.ts'
import { Address } from '../http/validate.ts'
import { readAddress, showsOtherAddress } from '../lib/address.ts'
import { Body, SenderName } from '../templates/content.ts'

const MAX_RECIPIENTS = 1_000
const MAX_HEADERS = 50
const MAX_NAME = 255
const MB = 1024 * 1024
/** Every recipient gets a copy of the data. */
const MAX_COPIES = 16 * MB

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
  if (name === undefined || name === null) return { name: null, email: address }
  if (typeof name !== 'string') return void issue([...path, 'name'], 'Expected string.', 'invalid_type')
  const problem = problemOfName(name)
  return problem ? void issue([...path, 'name'], problem, 'invalid_string') : { name: name.trim() || null, email: address }
}

function problemOfName(name: string) {
  if (name.length > MAX_NAME) return `Must have at most ${MAX_NAME} characters.`
  return /[\p{Cc}\u2028\u2029]/u.test(name) ? 'Must be one line of text.' : undefined
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
  /^(from|sender|to|cc|bcc|subject|return-path|received|dkim-signature|date|message-id|mime-version|content-.*|resent-.*|x-ses-.*|x-sterna-.*)$/i
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,76}$/

const Headers = z
  .record(z.string(), z.string().max(998))
  .meta({ maxProperties: MAX_HEADERS })
  .superRefine((headers, context) => {
    const issue = reporter(context)
    const seen = new Set<string>()
    for (const name of Object.keys(headers)) {
      if (!TOKEN.test(name)) issue([name.slice(0, 80)], 'Not a header name.', 'invalid_string')
      else if (OURS.test(name)) issue([name], 'This header is set by the service.', 'custom')
      else if (seen.has(name.toLowerCase())) issue([name], 'Given twice.', 'custom')
      else if (/[\r\n\0]/.test(headers[name]!)) issue([name], 'Must not contain line breaks.', 'invalid_string')
      seen.add(name.toLowerCase())
    }
  })

const oneLine = (text: string) => !/[\r\n\0]/.test(text)

/** Piece by piece: one expression for all of it takes more stack than there is, for files of some megabytes. */
const isBase64 = (text: string) => text.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(text.replace(/={1,2}$/, ''))

const AttachmentBody = z
  .object({
    filename: z
      .string()
      .min(1)
      .max(255)
      // Nor marks that turn the direction of what follows: they make an .exe look like a .pdf.
      .regex(/^[^\p{Cc}"\\/\u2028-\u202e\u2066-\u2069]+$/u, 'Must be a file name without quotes, slashes or line breaks.'),
    content: z.string().refine(isBase64, { message: 'Must be base64.', params: { code: 'invalid_string' } }),
    contentType: z
      .string()
      .max(127)
      // A part made of parts must not be encoded, so it cannot be one attachment.
      .regex(/^(?!multipart\/)[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/i, 'Must be a MIME type of a single file.'),
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

/** Encoded files stand in lines of 76 characters. */
const LINE_BREAKS = 78 / 76

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
      body: Body.optional(),
      template: z.uuid().optional(),
      from: Sender.optional(),
      name: SenderName.optional().describe('Deprecated: use `from.name`.'),
      subscribed: z.boolean().optional(),
      data: Data.nullish(),
      headers: Headers.optional(),
      reply: Address.optional(),
      attachments: z.array(AttachmentBody).max(maxAttachments).optional(),
    })
    .superRefine(({ to, template, subject, body, from, name, data, attachments = [] }, context) => {
      const issue = reporter(context)
      if (!template && subject === undefined) issue(['subject'], 'Required without a template.', 'required')
      if (!template && body === undefined) issue(['body'], 'Required without a template.', 'required')
      if (!template && from === undefined) issue(['from'], 'Required without a template.', 'required')
      if (showsOtherAddress(from?.name, from?.email)) issue(['from', 'name'], 'Must not show another email address.', 'custom')
      if (showsOtherAddress(name, from?.email)) issue(['name'], 'Must not show another email address.', 'custom')
      if (to.length > 1 && to.length * sizeOf(data) > MAX_COPIES)
        issue(['data'], 'This much data for so many recipients must be sent in several requests.', 'too_big')
      const bytes = attachments.reduce((sum, { content }) => sum + decodedSize(content), 0)
      if (bytes > maxAttachmentMb * MB) issue(['attachments'], `Attachments have at most ${maxAttachmentMb} MB together.`, 'too_big')
      const encoded = attachments.reduce((sum, { content }) => sum + content.length * LINE_BREAKS, 0)
      if (encoded > MAX_MESSAGE) issue(['attachments'], 'The whole mail would have more than 40 MB.', 'too_big')
    })
    .meta({ anyOf: [{ required: ['subject', 'body', 'from'] }, { required: ['template'] }] })

export const sizeOf = (data: DataPatch | null | undefined) => (data ? JSON.stringify(data).length : 0)

export type SendBody = z.output<ReturnType<typeof sendBody>>
