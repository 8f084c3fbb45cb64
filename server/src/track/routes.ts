import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { explainOversizedData } from '../contacts/record/contact.ts'
import { Data, NO_DATA } from '../contacts/record/data.ts'
import { sourceOf } from '../contacts/record/source.ts'
import type { Source } from '../contacts/record/subscription.ts'
import { EventRecord } from '../events/event.ts'
import { EventName } from '../events/name.ts'
import { NO_KEYS, SENDS_NOTHING } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Address, Timestamp } from '../http/core/validate.ts'
import { type Original, readIdempotencyKey, replay } from '../http/idempotency.ts'
import { IDEMPOTENCY_KEY, IDEMPOTENCY_REPLAY } from '../http/openapi/openapi.ts'
import { routesOf } from '../http/resource.ts'
import { AppError, fail } from '../lib/errors/errors.ts'
import { networkOf } from '../lib/network/network.ts'
import { KB } from '../lib/text/units.ts'
import { createTracker, type Tracked, type TrackRequest } from './accept.ts'
import { createSubscriptionLimit } from './limits.ts'
import { RecordBody, recordEventOnly } from './record.ts'

export const TrackBody = z.object({
  email: Address,
  event: EventName,
  subscribed: z.boolean().optional(),
  data: Data.nullish(),
})
type TrackBody = z.output<typeof TrackBody>

const Answer = z.object({
  success: z.literal(true),
  data: z.object({ contact: z.uuid(), event: z.uuid(), timestamp: Timestamp }),
})

/** Event data is stored, and the public key is on every web page: it must not be possible to fill the disk with it. */
const MAX_EVENT_DATA = 32 * KB
/** Upper bound of the rest of a body that is stored: address, name and JSON syntax. */
const MAX_OVERHEAD = 4 * KB

/** Runs before the schema validates the data. Measures the data only if the whole body is larger than the limit. */
function refuseLargeData(req: FastifyRequest, _reply: unknown, done: (err?: Error) => void) {
  const { data } = req.body as { data?: unknown }
  const tooLarge = req.bodySize > MAX_EVENT_DATA && Buffer.byteLength(JSON.stringify(data ?? null)) > MAX_EVENT_DATA
  const errors = [{ field: 'data', message: 'The data of an event must not exceed 32 KB as JSON.', code: 'too_big' as const }]
  done(tooLarge ? new AppError('VALIDATION_ERROR', { errors }) : undefined)
}

export function trackRoutes(app: App, { db, config }: Deps) {
  const route = routesOf(app, { tags: ['Events'], audit: null })
  const tracker = createTracker(db, config)
  const limitChanges = createSubscriptionLimit(config.rateLimitPerMinute)
  app.addHook('onClose', () => tracker.drain())

  const submit = (req: FastifyRequest, body: TrackBody, rest: Pick<TrackRequest, 'source' | 'key'>) =>
    req
      .withCheckedKey(() =>
        tracker.submit({
          project: req.project,
          email: body.email,
          event: body.event,
          subscribed: body.subscribed,
          patch: body.data ?? NO_DATA,
          bodyHash: req.bodyHash,
          size: Math.min(req.bodySize, MAX_EVENT_DATA + MAX_OVERHEAD),
          ...rest,
        }),
      )
      .then(answer, explainOversizedData)

  route.post(
    '/v1/track',
    {
      summary: 'Track an event',
      description: 'Creates or updates the contact and records the event. Send an `Idempotency-Key` header to make retries safe.',
      body: TrackBody,
      response: Answer,
      caller: 'public-key',
      role: null,
      ...NO_KEYS,
      keyCheckedLater: true,
      takesHeaders: [IDEMPOTENCY_KEY, IDEMPOTENCY_REPLAY],
      refusals: ['IDEMPOTENCY_KEY_REUSED'],
      preValidation: refuseLargeData,
      // The compiler checks the response against its schema; checking each one at run time would cost more than serialising it.
      serializerCompiler: () => JSON.stringify,
    },
    (req, reply) => {
      const key = readIdempotencyKey(req)
      const { email, subscribed } = req.body
      if (subscribed !== undefined) limitChanges({ projectId: req.project.id, email })
      const accepted = submit(req, req.body, { key, source: subscribed === undefined ? NO_SOURCE : publicSource(req) })
      return key === undefined ? accepted : accepted.catch(replay(req, reply, replayedAnswer))
    },
  )

  route.post(
    '/events/track',
    {
      summary: 'Track an event from a server or the dashboard',
      description:
        'Accepts the body of `/v1/track`, or `{ name, contactId?, emailId?, data? }` to record an event without changing a contact.',
      body: RecordBody.extend(TrackBody.partial().shape).meta({
        anyOf: [{ required: ['email', 'event'] }, { required: ['name'], not: { required: ['event'] } }],
      }),
      response: { 200: Answer, 201: EventRecord },
      caller: 'project',
      role: 'MEMBER',
      scope: 'events',
      ...SENDS_NOTHING,
      refusals: ['CONTACT_NOT_FOUND'],
      preValidation: refuseLargeData,
    },
    async (req, reply) => {
      if (req.body.event === undefined && req.body.name !== undefined) {
        return reply.status(201).send(await recordEventOnly(db, req.project.id, { ...req.body, name: req.body.name }))
      }
      return submit(req, requireTrackBody(req.body), { source: sourceOf(req) })
    },
  )
}

function requireTrackBody({ email, event, ...rest }: Partial<TrackBody>): TrackBody {
  if (email !== undefined && event !== undefined) return { ...rest, email, event }
  const missing = Object.entries({ email, event }).filter(([, value]) => value === undefined)
  return fail('VALIDATION_ERROR', { errors: missing.map(([field]) => ({ field, message: 'Required.', code: 'required' })) })
}

/** For requests that do not change the subscription. */
const NO_SOURCE: Source = { by: 'public-key' }

/** A public key does not identify the caller; the network is all that is known. */
const publicSource = (req: FastifyRequest): Source => ({
  by: 'public-key',
  details: { requestId: req.id, network: networkOf(req.ip) },
})

const answer = ({ contactId, eventId, at }: Tracked): z.output<typeof Answer> => ({
  success: true,
  data: { contact: contactId, event: eventId, timestamp: at },
})

/** Undefined when the contact was deleted since. */
const replayedAnswer = ({ result, contactId, createdAt }: Original): z.output<typeof Answer> | undefined =>
  contactId === null || !('event' in result)
    ? undefined
    : { success: true, data: { contact: contactId, event: String(result.event), timestamp: createdAt.toISOString() } }
