import { type RawBuilder, sql } from 'kysely'
import { many, type Tx } from '../../db/index.ts'
import { createdInScope, OF_DELETED_PROJECT, type WipeScope, wipeRows, wipeSql } from '../../db/wipe-rows.ts'
import type { Wiper } from '../../projects/wipe.ts'

/**
 * After the emails and campaigns: contents that no email uses any more. Those written later too, unless a campaign has them: a campaign that was
 * started during the wipe is deleted with the others. Any other content is written together with its emails.
 */
async function wipeContents(tx: Tx, scope: WipeScope) {
  const isUnused = sql`not exists (select from emails e where e.project_id = t.project_id and e.content_id = t.id)`
  const isOfCampaign = sql`exists (select from campaigns c where c.project_id = t.project_id and c.content_id = t.id)`
  const which = sql`${isUnused} and (${createdInScope(scope)} or not ${isOfCampaign})`
  const deleted = await many<{ id: string }>(tx)`${wipeSql('contents', scope, { which })} returning id`
  const ids = deleted.map(({ id }) => id)
  await sql`delete from attachments where project_id = ${scope.projectId} and content_id = any(${ids}::uuid[])`.execute(tx)
  return ids.length
}

/**
 * After the emails: a stream without a row is not paused, and its emails would be sent. Also those of campaigns that were started during the wipe
 * and deleted with the others; only campaigns have a domain here.
 */
const wipeStreams = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'streams', scope, {
    which: sql`${createdInScope(scope)}
      or t.from_domain <> '' and not exists (select from campaigns c where c.project_id = t.project_id and c.id = t.id)`,
  })

/**
 * Also entries of deleted emails, written when they were settled. A reset keeps what usage and reputation have not counted yet: otherwise it would
 * lift a cap. Entries that are left after that change nothing, since the emails and campaigns are gone.
 */
export const wipeEmailLedger = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'email_ledger', scope, {
    which: sql`${OF_DELETED_PROJECT}
      or t.hour is null and (${createdInScope(scope)} or not exists (
          select from emails e where e.project_id = t.project_id and e.id = any(t.email_ids))
        and not exists (select from emails e where e.project_id = t.project_id and e.campaign_id = t.campaign_id))`,
  })

/** Rows about an email that were written after the wipe was requested, while the email was being sent, are deleted with it. */
const isOrphan = sql`not exists (select from emails e where e.project_id = t.project_id and e.id = t.email_id)`
const orOrphan = (condition: RawBuilder<unknown>) => sql`${condition} or ${isOrphan}`

export const wipePauses = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'sending_pauses', scope, { key: ['domain'], which: sql`true` })

const wipeHeldRefusals = async (tx: Tx, scope: WipeScope) =>
  (await wipeRows(tx, 'held_refusals', scope, { key: ['email_id'], which: orOrphan(sql`t.held_at <= ${scope.before}::timestamptz`) })) +
  (await wipeRows(tx, 'refusal_streaks', scope, { key: ['domain', 'fingerprint'], which: sql`true` }))

/** For a project reset or deletion, in this order. The tables with the most rows come first. */
export const EMAIL_WIPERS: Wiper[] = [
  // Queued emails are deleted too: they are not sent any more.
  (tx, scope) => wipeRows(tx, 'emails', scope),
  wipeStreams,
  (tx, scope) =>
    wipeRows(tx, 'stream_rates', scope, {
      which: sql`not exists (select from streams s where s.project_id = t.project_id and s.id = t.id)`,
    }),
  wipeEmailLedger,
]

/** After the emails, and after the other large tables about them. */
export const EMAIL_REST_WIPERS: Wiper[] = [
  wipeContents,
  (tx, scope) => wipeRows(tx, 'sandbox_messages', scope, { which: orOrphan(createdInScope(scope)) }),
  wipePauses,
  wipeHeldRefusals,
  (tx, scope) => wipeRows(tx, 'suppressions', scope, { key: ['address'], which: OF_DELETED_PROJECT }),
  (tx, scope) => wipeRows(tx, 'soft_bounces', scope, { key: ['address', 'email_id'], which: orOrphan(createdInScope(scope)) }),
  // A notification whose project is not known yet is deleted by its age instead.
  (tx, scope) =>
    wipeRows(tx, 'provider_notifications', scope, {
      which: sql`t.received_at <= ${scope.before}::timestamptz or t.email_id is not null and ${isOrphan}`,
    }),
]
