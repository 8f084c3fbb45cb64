import { z } from 'zod'
import { EventRecord } from '../events/event.ts'
import { Timestamp } from '../http/core/validate.ts'
import { WebhookPayload, WebhookRecord } from './payload.ts'

const Email = {
  emailId: z.uuid(),
  messageId: z.string().nullable(),
  subject: z.string().nullable().describe('As rendered.'),
  from: z.string(),
  templateId: z.uuid().nullable(),
  campaignId: z.uuid().nullable(),
  workflowExecutionId: z.uuid().nullable(),
  sourceType: z.enum(['TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'INBOUND']),
}
const reason = z.string().nullable()
const machine = z.boolean().describe('Caused by a scanner, a prefetcher or a privacy proxy.')
const Campaign = { campaignId: z.uuid() }
const Execution = { workflowId: z.uuid(), executionId: z.uuid(), exitReason: z.string().optional() }
const Domain = { domainId: z.uuid(), domain: z.string() }

/** What `data.data` has, by type, and what the type means. */
const NAMED = {
  'email.sent': ['An email was sent', { ...Email, sentAt: Timestamp }],
  'email.delivery': ['The receiving server has confirmed an email', { ...Email, deliveredAt: Timestamp }],
  'email.open': ['An email was opened', { ...Email, opens: z.int(), isFirstOpen: z.boolean(), machine }],
  'email.click': ['A link of an email was clicked', { ...Email, link: z.string(), clicks: z.int(), isFirstClick: z.boolean(), machine }],
  'email.bounce': ['An email bounced', { ...Email, bounceType: z.enum(['Permanent', 'Transient']), reason: reason.optional() }],
  'email.complaint': ['A recipient marked an email as spam', { ...Email, reason: reason.optional() }],
  'email.failed': ['An email could not be sent', { ...Email, reason }],
  'email.received': ['An email arrived', { ...Email, to: z.string() }],
  'contact.subscribed': ['A contact was subscribed', {}],
  'contact.unsubscribed': ['A contact was unsubscribed', { reason: z.enum(['bounce', 'complaint']).optional() }],
  'contact.created': ['A contact was created', { subscribed: z.boolean(), source: z.string() }],
  'contact.deleted': ['A contact was deleted', {}],
  'campaign.started': ['A campaign was started', Campaign],
  'campaign.sent': ['A campaign was sent', { ...Campaign, totalRecipients: z.int(), sentCount: z.int() }],
  'campaign.paused': ['A campaign was paused', { ...Campaign, reason: z.string() }],
  'workflow.completed': ['An execution of a workflow ended', Execution],
  'workflow.failed': ['An execution of a workflow failed', Execution],
  'domain.verified': ['A domain was verified', Domain],
  'domain.failed': [
    'A domain, or the link host of one, is not verified any more',
    { ...Domain, linkHost: z.string().optional(), reason: reason.optional() },
  ],
  'project.disabled': ['The project was disabled', { reason: z.string() }],
  'project.enabled': ['The project was enabled', {}],
} satisfies Record<string, [summary: string, data: z.ZodRawShape]>

const SEGMENT = { segmentId: z.uuid(), segmentName: z.string() }

const nameOf = (type: string) =>
  `Webhook${type
    .split('.')
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('')}`

/** More keys may follow in `data.data` without notice. */
const payload = (id: string, type: z.ZodType, data: z.ZodType) =>
  WebhookPayload.extend({ type, data: WebhookRecord.extend({ data }) }).meta({ id })

const named = Object.entries(NAMED).map(([type, [summary, data]]) => ({
  type,
  summary,
  schema: payload(nameOf(type), z.literal(type), z.looseObject(data)),
}))

const [first, ...rest] = named.map(({ schema }) => schema)
const ownTypes = z
  .union([first!, ...rest])
  .meta({ id: 'WebhookOwnEvent', description: 'A webhook about something that Sterna itself does.' })

const others = [
  {
    type: 'segment.<slug>.<entry or exit>',
    summary: 'A contact entered or left a segment',
    schema: payload('WebhookSegment', z.string().meta({ pattern: '^segment\\..+\\.(entry|exit)$' }), z.looseObject(SEGMENT)),
  },
  {
    type: 'event.<name>',
    summary: 'An event was tracked',
    schema: payload('WebhookTrackedEvent', z.string().meta({ pattern: '^event\\..+$' }), EventRecord.shape.data),
  },
]

const HEADERS = {
  'webhook-id': 'The id of the delivery: the same for every attempt and replay.',
  'webhook-timestamp': 'When this attempt was made, in seconds.',
  'webhook-signature':
    '`v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64; after a rotation two of them, with a space between.',
}

const requestOf = ({ summary, schema }: { summary: string; schema: z.ZodType }) => ({
  post: {
    tags: ['Webhooks'],
    summary,
    parameters: Object.entries(HEADERS).map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema.meta()!.id}` } } },
    },
    responses: { '2XX': { description: 'Received. Any other answer, or none within 10 seconds, makes Sterna try again.' } },
  },
})

/** The requests that Sterna makes, for the OpenAPI document. */
export const WEBHOOK_REQUESTS: Record<string, object> = {
  ...Object.fromEntries([...named, ...others].map((each) => [each.type, requestOf(each)])),
  '*': requestOf({ summary: 'Any of those that Sterna itself causes', schema: ownTypes }),
}
