import { sql } from 'kysely'
import { z } from 'zod'
import { columns, type RowOf } from '../db/columns.ts'
import { countAffected, type Db, many, maybeOne, maybeScalar, type Tx } from '../db/index.ts'
import type { SealedColumn } from '../db/sealed-columns.ts'
import { OF_DELETED_PROJECT, type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { Timestamp } from '../http/core/validate.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { fail, notFound } from '../lib/errors/errors.ts'
import { newId } from '../lib/id.ts'
import type { Secrets } from '../lib/secrets.ts'
import { newSigningSecret, openSecrets } from '../webhooks/sign.ts'
import { Selectors } from './event-types.ts'

const MAX_ENDPOINTS = 20
const DISABLED_REASONS = ['gone', 'failing', 'backlog'] as const
export const MAX_GRACE_HOURS = 168

const Health = z.object({
  succeeded: z.int(),
  failed: z.int(),
  successRate: z.number().nullable().describe('Share of attempts that succeeded, 0 to 1; null without attempts.'),
  averageMs: z.int().nullable().describe('Mean time from the request to the reply, or to its failure.'),
})

export const WebhookEndpoint = z
  .object({
    id: z.uuid(),
    url: z.string(),
    description: z.string().nullable(),
    events: z.array(z.string()),
    enabled: z.boolean(),
    disabledReason: z
      .enum(DISABLED_REASONS)
      .nullable()
      .describe('Why Sterna disabled it: it answered 410, failed for five days, or more than a million deliveries waited.'),
    secret: z.string().describe('Signs requests by Standard Webhooks (HMAC-SHA256).'),
    previousSecretUntil: Timestamp.nullable().describe(
      'After a rotation, requests are also signed with the secret before, until this time.',
    ),
    failingSince: Timestamp.nullable().describe('The first failure since the last request that succeeded.'),
    health: Health.describe('Attempts of the last 24 hours.'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'WebhookEndpoint' })

export type EndpointKey = { projectId: string; id: string }
type DisabledReason = (typeof DISABLED_REASONS)[number]
const SHOWN = ['url', 'description', 'events', 'enabled', 'disabledReason', 'failingSince', 'createdAt', 'updatedAt'] as const
const OWN_COLUMNS = columns('webhook_endpoints', 'e', ['projectId', 'id', ...SHOWN])
export type EndpointRow = RowOf<typeof OWN_COLUMNS> & {
  disabledReason: DisabledReason | null
  secret: Buffer
  previous: Buffer | null
  previousUntil: Date | null
  succeeded: number
  failed: number
  durationMs: number
}

/** The former secret counts until its time. */
export const SECRET_COLUMNS = sql`e.secret, case when e.previous_until > now() then e.previous end as previous`

const COLUMNS = sql`
  ${OWN_COLUMNS}, ${SECRET_COLUMNS}, case when e.previous_until > now() then e.previous_until end as "previousUntil",
  coalesce(h.succeeded, 0)::int as succeeded, coalesce(h.failed, 0)::int as failed, coalesce(h.duration_ms, 0)::float8 as "durationMs"`

const HEALTH = sql`
  left join lateral (
    select sum(succeeded) as succeeded, sum(failed) as failed, sum(duration_ms) as duration_ms from webhook_hours h
    where h.project_id = e.project_id and h.endpoint_id = e.id and h.hour > now() - interval '24 hours'
  ) as h on true`

export const listEndpoints = (db: Db, projectId: string) =>
  many<EndpointRow>(db)`
    select ${COLUMNS} from webhook_endpoints e ${HEALTH} where e.project_id = ${projectId} order by e.id limit ${MAX_ENDPOINTS}
  `

const findEndpoint = (db: Db, { projectId, id }: EndpointKey) =>
  maybeOne<EndpointRow>(db)`select ${COLUMNS} from webhook_endpoints e ${HEALTH} where e.project_id = ${projectId} and e.id = ${id}`

/** Fails unless the project has this endpoint. */
export const getEndpoint = async (db: Db, key: EndpointKey) => (await findEndpoint(db, key)) ?? notFound('webhook endpoint', key.id)

export function showEndpoint(secrets: Secrets, row: EndpointRow): z.output<typeof WebhookEndpoint> {
  const { projectId: _project, secret: _secret, previous: _previous, previousUntil, succeeded, failed, durationMs, ...shown } = row
  const attempts = succeeded + failed
  return {
    ...shown,
    secret: openSecrets(secrets, row).secret,
    previousSecretUntil: previousUntil,
    health: {
      succeeded,
      failed,
      successRate: attempts ? succeeded / attempts : null,
      averageMs: attempts ? Math.round(durationMs / attempts) : null,
    },
  }
}

export const SEALED_ENDPOINT_SECRETS: SealedColumn[] = ['secret', 'previous'].map((column) => ({
  table: 'webhook_endpoints',
  key: ['project_id', 'id'],
  purpose: 'webhook-secret',
  column,
}))

export const EndpointBody = z.object({
  url: z.string().trim().min(1).max(2_048).describe('http or https. A host of a private network is refused.'),
  description: z.string().trim().max(500).nullish(),
  events: Selectors.default(['*']),
  enabled: z.boolean().default(true),
})
type EndpointValues = z.output<typeof EndpointBody>

/** Locked: concurrent requests cannot exceed the limit together. */
export async function createEndpoint(tx: Tx, secrets: Secrets, projectId: string, { url, description, events, enabled }: EndpointValues) {
  await sql`select 1 from projects where id = ${projectId} for no key update`.execute(tx)
  const id = newId()
  const created = await maybeOne(tx)`
    insert into webhook_endpoints (project_id, id, url, description, events, enabled, secret)
    select ${projectId}, ${id}, ${url}, ${description ?? null}, ${events}::text[], ${enabled}, ${secrets.seal('webhook-secret', newSigningSecret())}
    where (select count(*) from webhook_endpoints where project_id = ${projectId}) < ${MAX_ENDPOINTS}
    returning id
  `
  if (!created) fail('CONFLICT', { message: `A project has at most ${MAX_ENDPOINTS} webhook endpoints.` })
  return getEndpoint(tx, { projectId, id })
}

export const EndpointPatch = z.object({
  url: EndpointBody.shape.url.optional(),
  description: EndpointBody.shape.description,
  events: Selectors.optional(),
  enabled: z.boolean().optional(),
})

/** To enable an endpoint forgets why it was disabled, and its failures. */
export async function changeEndpoint(tx: Tx, key: EndpointKey, { url, description, events, enabled }: z.output<typeof EndpointPatch>) {
  await sql`
    update webhook_endpoints set
      url = coalesce(${url ?? null}, url),
      description = case when ${description === undefined} then description else ${description ?? null} end,
      events = coalesce(${events ?? null}::text[], events),
      enabled = coalesce(${enabled ?? null}::boolean, enabled),
      disabled_reason = case when ${enabled === undefined} then disabled_reason end,
      failing_since = case when ${enabled === true} and not enabled then null else failing_since end,
      updated_at = now()
    where project_id = ${key.projectId} and id = ${key.id}
  `.execute(tx)
  return getEndpoint(tx, key)
}

/** The former secret signs too, for `graceHours`. */
export async function rotateEndpointSecret(tx: Tx, secrets: Secrets, key: EndpointKey, graceHours: number) {
  await sql`
    update webhook_endpoints set secret = ${secrets.seal('webhook-secret', newSigningSecret())},
      previous = case when ${graceHours}::int > 0 then secret end,
      previous_until = case when ${graceHours}::int > 0 then now() + make_interval(hours => ${graceHours}::int) end,
      updated_at = now()
    where project_id = ${key.projectId} and id = ${key.id}
  `.execute(tx)
  return getEndpoint(tx, key)
}

/** A job removes its deliveries. */
export async function deleteEndpoint(tx: Tx, { projectId, id }: EndpointKey) {
  const deleted = await countAffected(tx)`delete from webhook_endpoints where project_id = ${projectId} and id = ${id}`
  if (deleted) await enqueue(tx, 'webhooks.forget', { projectId, endpointId: id })
}

/** Returns its URL; undefined if it is disabled already. A job ends its deliveries as failed: they can be replayed. */
export async function disableEndpoint(tx: Tx, { projectId, id }: EndpointKey, reason: DisabledReason) {
  const url = await maybeScalar<string>(tx)`
    update webhook_endpoints set enabled = false, disabled_reason = ${reason}, updated_at = now()
    where project_id = ${projectId} and id = ${id} and enabled returning url
  `
  if (url !== undefined) await enqueue(tx, 'webhooks.abandon', { projectId, endpointId: id })
  return url
}

/** A reset keeps them. */
export const wipeEndpoints = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'webhook_endpoints', scope, { which: OF_DELETED_PROJECT })
