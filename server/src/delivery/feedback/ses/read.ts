import { z } from 'zod'
import { type RefusedByReceiver, readRefusal } from '../../outbox/refusals/refusal.ts'
import { cleanReason } from '../reports/reason.ts'
import type { EmailReport, ReportedEmail } from '../reports/report.ts'

/** An email with its ids at the provider and in its header. One of them must match: see `apply.ts`. */
type NotifiedEmail = ReportedEmail & { providerId: string; messageIds: string[] }

/** A report in the form of a stored notification. */
export type Notification = EmailReport & { email: NotifiedEmail }

/** `irrelevant`: why the notification has no effect. */
export type ParsedNotification = { notification: Notification } | { irrelevant: string; kind?: string }

const text = z.string().catch('')
const time = z.iso
  .datetime({ offset: true })
  .transform((written) => new Date(written).toISOString())
  .optional()
  .catch(undefined)
const Recipients = z.array(z.object({ diagnosticCode: text, status: text })).catch([])

const SesEvent = z.object({
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
type SesEvent = z.output<typeof SesEvent>

/** The kinds of events that have an effect. Opens and clicks are not among them: Sterna measures those itself. */
const KINDS: Record<string, (event: SesEvent) => Pick<Notification, 'feedback' | 'rejected' | 'details'> | undefined> = {
  Send: () => ({}),
  Delivery: ({ delivery }) => ({ feedback: { is: 'delivery', ...timeOf(delivery) } }),
  Bounce: ({ bounce }) => ({
    feedback: { is: bounce?.bounceType === 'Permanent' ? 'bounce' : 'soft-bounce', reason: reasonOf(bounce), ...timeOf(bounce) },
  }),
  // Some receivers also report that a recipient moved an email out of the spam folder.
  Complaint: ({ complaint }) =>
    complaint?.complaintFeedbackType === 'not-spam' ? undefined : { feedback: { is: 'complaint', ...timeOf(complaint) } },
  DeliveryDelay: ({ deliveryDelay: delay }) => ({
    details: {
      reason: cleanReason([delay?.delayType, delay?.delayedRecipients[0]?.diagnosticCode]),
      ...(delay?.expirationTime ? { until: cleanReason([delay.expirationTime]) } : {}),
      ...timeOf(delay),
    },
  }),
  Reject: ({ reject }) => ({ rejected: cleanReason(['Amazon SES rejected it', reject?.reason]) }),
  'Rendering Failure': ({ failure }) => ({ rejected: cleanReason(['Amazon SES could not render it', failure?.errorMessage]) }),
}

const timeOf = (part: { timestamp?: string | undefined } | undefined) => (part?.timestamp ? { at: part.timestamp } : {})

const reasonOf = (bounce: SesEvent['bounce']) => {
  const { diagnosticCode = '', status = '' } = bounce?.bouncedRecipients[0] ?? {}
  return cleanReason([diagnosticCode || status || bounce?.bounceSubType || 'no reason given'])
}

export function readNotification(message: string): ParsedNotification {
  const json = parseJson(message)
  const refusal = readRefusal(json)
  return refusal ? { notification: notificationOf(refusal) } : readSesEvent(json)
}

/** A refusal that we stored ourselves. It is checked against the email like any other notification. */
const notificationOf = ({ projectId, emailId, messageId, reason }: RefusedByReceiver): Notification => ({
  kind: 'Refused',
  email: { projectId, emailId, providerId: '', messageIds: [messageId] },
  feedback: { is: 'bounce', reason: cleanReason([reason]) },
  refused: true,
})

function readSesEvent(json: unknown): ParsedNotification {
  const parsed = SesEvent.safeParse(json)
  if (!parsed.success) return { irrelevant: 'Not an event of Amazon SES.' }
  const kind = parsed.data.eventType ?? parsed.data.notificationType ?? ''
  const findings = Object.hasOwn(KINDS, kind) ? KINDS[kind]!(parsed.data) : undefined
  if (!findings) return { irrelevant: 'This kind of event has no effect.', kind: cleanReason([kind]) }
  const email = emailOf(parsed.data)
  return email ? { notification: { kind, email, ...findings } } : { irrelevant: 'Not about an email of this installation.', kind }
}

const isUuid = (id: string | undefined): id is string => z.uuid().safeParse(id).success

/** By our tags. Customers cannot set them: headers that set tags are refused when an email is accepted. */
function emailOf({ mail }: SesEvent): NotifiedEmail | undefined {
  const [projectId] = mail.tags.projectId ?? []
  const [emailId] = mail.tags.emailId ?? []
  if (!isUuid(projectId) || !isUuid(emailId)) return undefined
  const fromHeaders = mail.headers.filter(({ name }) => name.toLowerCase() === 'message-id').map(({ value }) => value)
  const messageIds = [mail.commonHeaders.messageId, ...fromHeaders].map((id) => id.trim().replace(/^<|>$/g, '')).filter(Boolean)
  return { projectId, emailId, providerId: mail.messageId, messageIds }
}

function parseJson(message: string): unknown {
  try {
    return JSON.parse(message)
  } catch {
    return undefined
  }
}
