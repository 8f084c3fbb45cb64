import { z } from 'zod'
import { Data, type DataPatch } from '../../contacts/record/data.ts'
import { SendAt } from '../../delivery/emails/send-at.ts'
import { Address } from '../../http/core/validate.ts'
import { readAddress, senderNameProblem } from '../../lib/text/address.ts'
import { MB } from '../../lib/text/units.ts'
import { MAX_MESSAGE } from '../../mime/compose.ts'
import { MAX_SOURCE } from '../../templates/language/limits.ts'
import { SENDER_NAME_PROBLEMS, SenderName } from '../../templates/rendering/content.ts'
import { hasTags } from '../../templates/rendering/render.ts'
import { AttachmentBody, decodedSize } from './attachment.ts'
import { RELAY_HEADER } from './relay-headers.ts'

const MAX_RECIPIENTS = 1_000
const MAX_HEADERS = 50
const MAX_NAME = 255
/** Data is stored once per recipient; this bounds all copies of a request. */
const MAX_COPIES = 16 * MB

type Issue = (path: (string | number)[], message: string, code?: string) => void

/** Reads one mailbox: a string or an object with a name. */
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

const recipients = (max: number) =>
  z
    .unknown()
    .meta({ anyOf: [...mailboxSchema.anyOf, { type: 'array', items: mailboxSchema, minItems: 1, maxItems: max }] })
    .transform((given, context) => {
      const issue = reporter(context)
      const list = Array.isArray(given) ? given : [given]
      if (list.length < 1) issue([], 'Give at least one recipient.', 'too_small')
      if (list.length > max) {
        issue([], max === 1 ? 'Give one recipient.' : `At most ${max} recipients.`, 'too_big')
        return z.NEVER
      }
      const read = list.map((each, index) => readMailbox(each, Array.isArray(given) ? [index] : [], issue))
      return read.filter((each) => each !== undefined)
    })

/** `Name <address>`, optionally with a quoted name. */
const NAMED = /^(?:"((?:[^"\\]|\\.)*)"\s*|([^<>"]*))<([^<>]*)>$/
/** Fits the longest name and address with quotes and escapes. */
const MAX_NAMED = 1_000

function splitNamed(given: unknown) {
  const [, quoted, plain = '', email] = (typeof given === 'string' && given.length <= MAX_NAMED && NAMED.exec(given.trim())) || []
  return email === undefined ? given : { name: quoted?.replace(/\\(.)/g, '$1') ?? plain.trim(), email }
}

/** `isText`: given as a string, so the field `name` applies if the string has no name. */
const From = z
  .unknown()
  .meta({ anyOf: [{ type: 'string', description: 'An address, or `Name <address>`.' }, mailboxSchema.anyOf[1]] })
  .transform((given, context) => {
    const isText = typeof given === 'string'
    const report = reporter(context)
    // A string has no fields, so report its problems on `from`.
    const mailbox = readMailbox(splitNamed(given), [], isText ? (_, ...problem) => report([], ...problem) : report)
    return mailbox ? { ...mailbox, isText } : z.NEVER
  })

/** Without template tags the body is not parsed, so only the message limit applies. */
const SentBody = z
  .string()
  .min(1)
  .max(MAX_MESSAGE)
  .refine((body) => body.length <= MAX_SOURCE || !hasTags(body), {
    message: `With template tags at most ${MAX_SOURCE.toLocaleString('en')} characters.`,
    params: { code: 'too_big' },
  })

/** Headers for addressing and structure, which only the service may set. */
const RESERVED_HEADER =
  /^(from|sender|to|cc|bcc|subject|return-path|received|dkim-signature|date|message-id|mime-version|content-.*|resent-.*|x-sterna-.*)$/i
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,76}$/

const Headers = z
  .record(z.string(), z.string().max(998))
  .meta({ maxProperties: MAX_HEADERS })
  .superRefine((headers, context) => {
    const issue = reporter(context)
    const seen = new Set<string>()
    for (const name of Object.keys(headers)) {
      if (!TOKEN.test(name)) issue([name.slice(0, 80)], 'Not a header name.', 'invalid_string')
      else if (RESERVED_HEADER.test(name)) issue([name], 'This header is set by the service.', 'custom')
      else if (RELAY_HEADER.test(name)) issue([name], 'This header would control the relay.', 'custom')
      else if (seen.has(name.toLowerCase())) issue([name], 'Given twice.', 'custom')
      else if (/[\r\n\0]/.test(headers[name]!)) issue([name], 'Must not contain line breaks.', 'invalid_string')
      seen.add(name.toLowerCase())
    }
  })

const oneLine = (text: string) => !/[\r\n\0]/.test(text)

/** Base64 in a message is wrapped into lines of 76 characters and CRLF. */
const LINE_BREAK_FACTOR = 78 / 76

type Bounds = { maxAttachments: number; maxAttachmentMb: number; maxRecipients?: number }

export const sendBody = ({ maxAttachments, maxAttachmentMb, maxRecipients = MAX_RECIPIENTS }: Bounds) =>
  z
    .object({
      to: recipients(maxRecipients),
      subject: z
        .string()
        .min(1)
        .max(998)
        .refine(oneLine, { message: 'Must be one line.', params: { code: 'invalid_string' } })
        .optional(),
      body: SentBody.optional(),
      template: z.uuid().optional(),
      from: From.optional(),
      name: SenderName.optional().describe('Deprecated: use `from.name`. Applies only if `from` is a string without a name.'),
      subscribed: z.boolean().optional(),
      data: Data.nullish(),
      headers: Headers.optional(),
      reply: Address.optional(),
      attachments: z.array(AttachmentBody).max(maxAttachments).optional(),
      sendAt: SendAt.nullish(),
    })
    .superRefine(({ to, template, subject, body, from, name, data, attachments = [] }, context) => {
      const issue = reporter(context)
      if (!template && subject === undefined) issue(['subject'], 'Required without a template.', 'required')
      if (!template && body === undefined) issue(['body'], 'Required without a template.', 'required')
      if (!template && from === undefined) issue(['from'], 'Required without a template.', 'required')
      const [fromProblem, nameProblem] = [from?.name, name].map((each) => senderNameProblem(each, from?.email))
      if (fromProblem) issue(from?.isText ? ['from'] : ['from', 'name'], SENDER_NAME_PROBLEMS[fromProblem], 'custom')
      if (nameProblem) issue(['name'], SENDER_NAME_PROBLEMS[nameProblem], 'custom')
      if (to.length > 1 && to.length * recipientSize(data) > MAX_COPIES)
        issue(['data'], 'Too much data for this many recipients. Split the request.', 'too_big')
      const bytes = attachments.reduce((sum, { content }) => sum + decodedSize(content), 0)
      if (bytes > maxAttachmentMb * MB) issue(['attachments'], `Attachments must not exceed ${maxAttachmentMb} MB in total.`, 'too_big')
      const encoded = attachments.reduce((sum, { content }) => sum + content.length * LINE_BREAK_FACTOR, 0)
      if (attachments.length && encoded + (body?.length ?? 0) > MAX_MESSAGE)
        issue(['attachments'], 'The message would exceed 40 MB.', 'too_big')
    })
    .meta({ anyOf: [{ required: ['subject', 'body', 'from'] }, { required: ['template'] }] })

export const recipientSize = (data: DataPatch | null | undefined) => (data ? JSON.stringify(data).length : 0)

export type SendBody = z.output<ReturnType<typeof sendBody>>
