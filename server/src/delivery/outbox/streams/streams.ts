import { type RawBuilder, sql } from 'kysely'
import { columns, type RowOf } from '../../../db/columns.ts'
import { countAffected, type Db, maybeOne, scalar, type Tx } from '../../../db/index.ts'
import { isProven } from '../../../domains/sender-domains/proof.ts'
import { NIL_ID } from '../../../lib/id.ts'
import { notifyQueued } from './queue-notifications.ts'
import { PRIORITIES, workflowStream } from './stream-of.ts'

/** The stream of a campaign has the id of the campaign. */
export type StreamRef = { projectId: string; streamId: string }

/** Emails a minute, over all workers. Null: as fast as possible. */
type Rate = number | null

const isStream = ({ projectId, streamId }: StreamRef) => sql`project_id = ${projectId} and id = ${streamId}`

/** Opens a stream, or opens it again for a resend. Neither paused nor cancelled afterwards. */
export async function openStream(
  tx: Tx,
  { fromDomain, ratePerMinute = null, ...stream }: StreamRef & { fromDomain: string; ratePerMinute?: Rate },
) {
  await sql`
    insert into streams (project_id, id, lane, from_domain) values (${stream.projectId}, ${stream.streamId}, ${PRIORITIES.bulk}, ${fromDomain})
    on conflict (project_id, id) do update set from_domain = excluded.from_domain, paused_at = null, cancelled_at = null,
      expiry_from = now()
  `.execute(tx)
  await setStreamRate(tx, stream, ratePerMinute)
}

/**
 * Once committed, no email of the stream is marked any more: a mark that is under way has finished, and later ones see the pause. Emails that
 * are built or on the wire without a mark are queued again. False when there is no such open stream.
 */
export const pauseStream = async (tx: Tx, stream: StreamRef) =>
  (await countAffected(tx)`update streams set paused_at = coalesce(paused_at, now()) where ${isStream(stream)} and cancelled_at is null`) >
  0

/** False when there is no such open stream. */
export async function resumeStream(tx: Tx, stream: StreamRef) {
  const resumed = await countAffected(tx)`
    update streams set paused_at = null, expiry_from = now() where ${isStream(stream)} and cancelled_at is null
  `
  await notifyQueued(tx, PRIORITIES.bulk)
  return resumed > 0
}

/** The same promise as a pause, but permanent. The emails are cancelled by `cancelQueued`, and by the sender until none is left. */
export const cancelStream = async (tx: Tx, stream: StreamRef) =>
  (await countAffected(tx)`update streams set cancelled_at = coalesce(cancelled_at, now()) where ${isStream(stream)}`) > 0

/** Cancels all streams of a project, for its reset or deletion. */
export const cancelStreamsOf = (tx: Tx, projectId: string) =>
  countAffected(tx)`update streams set cancelled_at = now() where project_id = ${projectId} and cancelled_at is null`

/**
 * For the reset or deletion of a project: emails of its workflows do not leave any more. The row is wiped after the emails. Until then no
 * execution goes on, so no email of a new workflow is cancelled.
 */
export const cancelWorkflowStream = (tx: Tx, projectId: string) =>
  sql`
    insert into streams (project_id, id, lane, from_domain, cancelled_at)
    values (${projectId}, ${workflowStream(projectId)}, ${PRIORITIES.bulk}, '', now())
    on conflict (project_id, id) do update set cancelled_at = excluded.cancelled_at
  `.execute(tx)

/** Takes effect with the next claim. */
export async function setStreamRate(tx: Tx, stream: StreamRef, ratePerMinute: Rate) {
  await sql`update streams set expiry_from = now() where ${isStream(stream)}`.execute(tx)
  if (ratePerMinute === null) await sql`delete from stream_rates where ${isStream(stream)}`.execute(tx)
  else
    await sql`
      insert into stream_rates (project_id, id, per_minute, unused_since)
      -- The first email need not wait.
      values (${stream.projectId}, ${stream.streamId}, ${ratePerMinute}, now() - make_interval(secs => 61.0 / ${ratePerMinute}::int))
      on conflict (project_id, id) do update set per_minute = excluded.per_minute
    `.execute(tx)
}

/** Only for a stream without open emails (`hasOpenEmails`): a stream without a row is not paused. */
export async function removeStream(tx: Tx, stream: StreamRef) {
  await sql`delete from stream_rates where ${isStream(stream)}`.execute(tx)
  await sql`delete from streams where ${isStream(stream)}`.execute(tx)
}

type DerivedPause = 'provider_quota' | 'provider' | 'domain' | 'domain_paused' | 'project_disabled'

/**
 * Why emails of a project from a domain are not sent at the moment, as SQL; null when they are. Nothing is stored: sending continues when the
 * cause is gone.
 */
export const derivedPauseSql = ({ projectId, domain }: Record<'projectId' | 'domain', RawBuilder<unknown>>) => sql<DerivedPause | null>`case
  when (select p.disabled from projects p where p.id = ${projectId}) then 'project_disabled'
  when exists (select from sending_pauses s where s.project_id = ${NIL_ID} and s.domain = '' and s.cause = 'quota') then 'provider_quota'
  when exists (select from sending_pauses s where s.project_id = ${NIL_ID} and s.domain = '') then 'provider'
  when not exists (select from domains d where d.project_id = ${projectId} and d.domain = ${domain} and ${isProven}) then 'domain'
  when exists (select from sending_pauses s where s.project_id = ${projectId} and s.domain = ${domain}) then 'domain_paused' end`

const STATE = columns('streams', 't', ['pausedAt', 'cancelledAt'])
type StreamState = RowOf<typeof STATE> & { ratePerMinute: Rate; derivedPause: DerivedPause | null }

/** Undefined when there is no such stream. */
export const readStreamState = (db: Db, { projectId, streamId }: StreamRef) =>
  maybeOne<StreamState>(db)`
    select ${STATE},
      (select r.per_minute from stream_rates r where r.project_id = t.project_id and r.id = t.id) as "ratePerMinute",
      ${derivedPauseSql({ projectId: sql`t.project_id`, domain: sql`t.from_domain` })} as "derivedPause"
    from streams t where t.project_id = ${projectId} and t.id = ${streamId}
  `

/**
 * Whether an email of the campaign has not ended. Each state has an index of its own, so that no row of an ended email is read, however many
 * there are.
 */
export const hasOpenEmails = (db: Db, { projectId, streamId }: StreamRef) =>
  scalar<boolean>(db)`
    with held as materialized (select project_id, campaign_id from emails where state = 'sending')
    select exists (
        select from emails where state = 'queued' and lane = ${sql.lit(PRIORITIES.bulk)} and project_id = ${projectId} and stream_id = ${streamId})
      or exists (
        select from emails where state in ('deferred', 'unknown') and project_id = ${projectId} and campaign_id = ${streamId})
      or exists (select from held where project_id = ${projectId} and campaign_id = ${streamId})
  `
