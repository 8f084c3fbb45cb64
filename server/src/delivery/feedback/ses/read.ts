import { z } from 'zod'
import { type RefusedByReceiver, readRefusal } from '../../outbox/refusal.ts'
import type { Feedback } from '../../transport/transport.ts'

/** Which mail is meant, by what its sender and its provider call it. */
type Mail = { projectId: string; emailId: string; providerId: string; messageIds: string[] }

/** What a notification says. */
export type Notification = {
  kind: string
  mail: Mail
  feedback?: Feedback
  /** Taken by the provider, and then not passed on. */
  rejected?: string
  /** Not even taken. */
  refused?: boolean
  /** For the story of the mail. */
  details?: object
}
/** `irrelevant`: understood, and nothing follows. */
export type ParsedNotification = { said: Notification } | { irrelevant: string; kind?: string }

const text = z.string().catch('')
const time = z.iso
  .datetime({ offset: true })
  .transform((written) => new Date(written).toISOString())
  .optional()
  .catch(undefined)
const Recipients = z.array(z.object({ diagnosticCode: text, status: text })).catch([])

const Message = z.object({
  eventType: z.string().max(100).optional(),
  notificationType: z.string().max(100).optional(),
  mail: z.object({
    messageId: z.string().max(500),
    tags: z.record(z.string(), z.array(z.string())).catch({}),
    headers: z.array(z.object({ name: z.string(), value: z.string() })).catch([]),
    commonHeaders: z.object({ messageId: text }).catch({ messageId: '' }),
  }),
  delivery: z.object({ timestamp: time }).optional(),
  bounce: z.object({ timestamp: time, bounceType: text, bounceSubType: text, bouncedRecipients: Recipients }).optional(),
  complaint: z.object({ timestamp: time, complaintFeedbackType: text }).optional(),
  deliveryDelay: z.object({ timestamp: time, delayType: text, expirationTime: text, delayedRecipients: Recipients }).optional(),
  reject: z.object({ reason: text }).optional(),
  failure: z.object({ errorMessage: text }).optional(),
})
type Message = z.output<typeof Message>

/** Each kind that matters, and what it says of the mail. Opens and clicks are not among them: those we see ourselves. */
const KINDS: Record<string, (message: Message) => Pick<Notification, 'feedback' | 'rejected' | 'details'> | undefined> = {
  Send: () => ({}),
  Delivery: ({ delivery }) => ({ feedback: { is: 'delivery', ...at(delivery) } }),
  Bounce: ({ bounce }) => ({
    feedback: { is: bounce?.bounceType === 'Permanent' ? 'bounce' : 'soft-bounce', reason: reasonOf(bounce), ...at(bounce) },
  }),
  // Some receivers also tell when somebody took a mail out of the spam folder.
  Complaint: ({ complaint }) =>
    complaint?.complaintFeedbackType === 'not-spam' ? undefined : { feedback: { is: 'complaint', ...at(complaint) } },
  DeliveryDelay: ({ deliveryDelay: delay }) => ({
    details: {
      reason: clean([delay?.delayType, delay?.delayedRecipients[0]?.diagnosticCode]),
      ...(delay?.expirationTime ? { until: clean([delay.expirationTime]) } : {}),
      ...at(delay),
    },
  }),
  Reject: ({ reject }) => ({ rejected: clean(['Amazon SES rejected it', reject?.reason]) }),
  'Rendering Failure': ({ failure }) => ({ rejected: clean(['Amazon SES could not render it', failure?.errorMessage]) }),
}

const at = (told: { timestamp?: string | undefined } | undefined) => (told?.timestamp ? { at: told.timestamp } : {})

const reasonOf = (bounce: Message['bounce']) => {
  const { diagnosticCode = '', status = '' } = bounce?.bouncedRecipients[0] ?? {}
  return clean([diagnosticCode || status || bounce?.bounceSubType || 'no reason given'])
}

const MAX_REASON = 500

/** Text of strangers: on one line, short, and nothing in it that a terminal or a database takes for more than text. */
export const clean = (parts: (string | undefined)[]) =>
  parts
    .filter(Boolean)
    .join(': ')
    .replace(/[\p{Cc}\p{Surrogate}]+/gu, ' ')
    .trim()
    .slice(0, MAX_REASON)
    // Cut in the middle of a pair.
    .replace(/\p{Surrogate}/gu, '')

export function readNotification(message: string): ParsedNotification {
  const json = parse(message)
  const refusal = readRefusal(json)
  return refusal ? { said: saidBy(refusal) } : readSes(json)
}

/** It has to name the mail in full, as if it came from elsewhere. */
const saidBy = ({ projectId, emailId, messageId, reason }: RefusedByReceiver): Notification => ({
  kind: 'Refused',
  mail: { projectId, emailId, providerId: '', messageIds: [messageId] },
  feedback: { is: 'bounce', reason: clean([reason]) },
  refused: true,
})

function readSes(json: unknown): ParsedNotification {
  const parsed = Message.safeParse(json)
  if (!parsed.success) return { irrelevant: 'This is not an event of Amazon SES.' }
  const kind = parsed.data.eventType ?? parsed.data.notificationType ?? ''
  const meaning = Object.hasOwn(KINDS, kind) ? KINDS[kind]!(parsed.data) : undefined
  if (!meaning) return { irrelevant: 'Nothing follows from it.', kind: clean([kind]) }
  const mail = mailOf(parsed.data)
  return mail ? { said: { kind, mail, ...meaning } } : { irrelevant: 'It is not about a mail of ours.', kind }
}

const isUuid = (id: string | undefined): id is string => z.uuid().safeParse(id).success

/** By the tags that we, and only we, put on it: headers that set tags are refused when a mail is accepted. */
function mailOf({ mail }: Message): Mail | undefined {
  const [projectId] = mail.tags.projectId ?? []
  const [emailId] = mail.tags.emailId ?? []
  if (!isUuid(projectId) || !isUuid(emailId)) return undefined
  const named = mail.headers.filter(({ name }) => name.toLowerCase() === 'message-id').map(({ value }) => value)
  const messageIds = [mail.commonHeaders.messageId, ...named].map((id) => id.trim().replace(/^<|>$/g, '')).filter(Boolean)
  return { projectId, emailId, providerId: mail.messageId, messageIds }
}

function parse(message: string): unknown {
  try {
    return JSON.parse(message)
  } catch {
    return undefined
  }
}
