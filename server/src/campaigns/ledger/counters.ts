import { type RawBuilder, sql } from 'kysely'
import { toSnake } from '../../db/columns.ts'
import { type Db, many, one, type Pool, type Tx, transact } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { type CampaignRef, EMAIL_OUTCOMES, type EmailOutcome, recountSql } from '../../delivery/outbox/outcomes/email-ledger.ts'
import { isWiped } from '../../ledger/ledger-sql.ts'
import { lock } from '../../ledger/locks.ts'
import type { CampaignKey } from '../draft/campaign.ts'

const KINDS = Object.keys(EMAIL_OUTCOMES) as EmailOutcome[]
/** The column of a kind. */
const columnOf = (kind: EmailOutcome) => `${toSnake(kind)}_count`

/**
 * Adds entries of the email ledger to the counters of their campaigns. Waits for no campaign: returns those that others have locked, and leaves
 * them out. Emails outlive their campaign: entries of one that is gone are added to nothing.
 */
export async function addToCampaigns(tx: Tx, entries: RawBuilder<unknown>): Promise<CampaignRef[]> {
  const campaigns = await many<CampaignRef & { locked: boolean }>(tx)`
    with named as materialized (
      select c.project_id, c.id from (select distinct project_id, campaign_id from ${entries} as e where campaign_id is not null) as e
      join campaigns c on c.project_id = e.project_id and c.id = e.campaign_id
    ), locked as materialized (
      select c.id from campaigns c join named n on n.project_id = c.project_id and n.id = c.id for no key update of c skip locked
    )
    select project_id as "projectId", id as "campaignId", id in (select id from locked) as locked from named
  `
  const locked = campaigns.filter((campaign) => campaign.locked).map(({ campaignId }) => campaignId)
  if (locked.length) {
    const changes = sql`select project_id, campaign_id, kind, n, created_at from ${entries} as e where campaign_id = any(${locked}::uuid[])`
    await addToCounters(tx, changes)
    await addToMinutes(tx, changes)
  }
  return campaigns.filter((campaign) => !campaign.locked)
}

/** Waits for the rows of campaigns, in the order of their keys: consistent lock order. */
export const lockCampaigns = (tx: Tx, campaigns: CampaignRef[]) =>
  sql`
    select from campaigns where (project_id, id) in (
      select "projectId", "campaignId" from ${recordset('campaign_minutes', campaigns, ['projectId', 'campaignId'])} as c)
    order by project_id, id for no key update
  `.execute(tx)

const sumsOf = (kinds: EmailOutcome[]) =>
  sql.join(kinds.map((kind) => sql`coalesce(sum(n) filter (where kind = ${sql.lit(kind)}), 0) as ${sql.ref(kind)}`))

/** Adds changes, given as rows of (project_id, campaign_id, kind, n). */
async function addToCounters(tx: Tx, changes: RawBuilder<unknown>) {
  const sets = KINDS.map((kind) => sql`${sql.ref(columnOf(kind))} = ${sql.ref(`c.${columnOf(kind)}`)} + ${sql.ref(`t.${kind}`)}`)
  await sql`
    update campaigns c set ${sql.join(sets)}
    from (select project_id, campaign_id, ${sumsOf(KINDS)} from (${changes}) as changes group by 1, 2) as t
    where c.project_id = t.project_id and c.id = t.campaign_id
  `.execute(tx)
}

/** Kinds that a spike is judged by. */
const BY_MINUTE: EmailOutcome[] = ['sent', 'failed', 'bounced', 'complained']

const addToMinutes = (tx: Tx, changes: RawBuilder<unknown>) =>
  sql`
    insert into campaign_minutes as m (project_id, campaign_id, minute, sent, failed, bounced, complained)
    select project_id, campaign_id, date_trunc('minute', created_at), ${sumsOf(BY_MINUTE)}
    from (${changes}) as changes where kind = any(${BY_MINUTE}::text[])
    group by 1, 2, 3 order by 1, 2, 3
    on conflict (project_id, campaign_id, minute) do update set
      sent = m.sent + excluded.sent, failed = m.failed + excluded.failed, bounced = m.bounced + excluded.bounced,
      complained = m.complained + excluded.complained
  `.execute(tx)

/** Deletes minutes that no spike is judged by any more. */
export const dropOldMinutes = (tx: Tx) => sql`delete from campaign_minutes where minute < now() - interval '1 hour'`.execute(tx)

type Counters = Record<EmailOutcome | 'total', number>
type Read = { total: number; counted: Counters; stored: Counters; waiting: Partial<Counters>; pending: number; closed: boolean }
export type Recount = { total: number; counted: Counters; pending: number }

/**
 * Recounts the emails of a campaign and corrects its counters by the difference. What is counted, the counters and the entries that are
 * not yet added to them are read in one statement: their sum is the same, whatever other workers add meanwhile. One recount of a campaign at a
 * time. Counters that are closed stay as they are: their emails are being removed.
 */
export async function recountCampaign(tx: Tx, { projectId, id }: CampaignKey): Promise<Recount & { wrong: Partial<Counters> }> {
  await sql`set local statement_timeout = ${sql.lit(RECOUNT_MS)}`.execute(tx)
  await lock(tx, 'repair', `campaigns ${id}`)
  const stored = KINDS.map((kind) => sql`${sql.lit(kind)}::text, ${sql.ref(`c.${columnOf(kind)}`)}`)
  const read = await one<Read>(tx)`
    select c.total_recipients as total, c.counters_closed_at is not null as closed, jsonb_build_object(${sql.join(stored)}) as stored,
      (select to_jsonb(counted) from (${recountSql({ projectId, campaignId: id })}) as counted) as counted,
      (select coalesce(jsonb_object_agg(kind, n), '{}') from (
        select kind, sum(n)::int as n from email_ledger t where t.project_id = ${projectId} and t.campaign_id = ${id} group by kind
      ) as waiting) as waiting,
      (select count(*)::int from email_ledger t where t.project_id = ${projectId} and t.campaign_id = ${id}) as pending
    from campaigns c where c.project_id = ${projectId} and c.id = ${id}
  `
  if (read.closed) return { total: read.total, counted: { ...read.stored, total: read.total }, pending: read.pending, wrong: {} }
  const wrong: Partial<Counters> = {}
  for (const kind of KINDS) {
    const difference = read.counted[kind] - read.stored[kind] - (read.waiting[kind] ?? 0)
    if (difference) wrong[kind] = difference
  }
  const changes = sql`
    select ${projectId}::uuid as project_id, ${id}::uuid as campaign_id, key as kind, value::int as n
    from jsonb_each_text(${JSON.stringify(wrong)}::jsonb)`
  if (Object.keys(wrong).length) await addToCounters(tx, changes)
  await sql`update campaigns set recounted_at = clock_timestamp() where project_id = ${projectId} and id = ${id}`.execute(tx)
  return { total: read.total, counted: read.counted, pending: read.pending, wrong }
}
/** Counters of campaigns that are not closed, one by one. */
export const campaignSums = {
  name: 'campaigns',
  async repair(db: Pool, projectId: string) {
    const open = await many<CampaignKey>(db)`
      select project_id as "projectId", id from campaigns
      where project_id = ${projectId} and started_at is not null and counters_closed_at is null and deleted_at is null
        and not ${isWiped(sql`${projectId}`)} order by id
    `
    let campaigns = 0
    for (const key of open) {
      const { wrong } = await transact(db, (tx) => recountCampaign(tx, key))
      if (Object.keys(wrong).length) campaigns++
    }
    return { campaigns }
  },
}

/** Enough for millions of emails. */
const RECOUNT_MS = 14_000

/** `attempted`: sent, or failed, since a receiver may refuse an address during transmission. */
export type Minutes = { attempted: number; bounced: number; complained: number }

/** The campaigns that are being sent, with what happened in the last ten minutes, or since they were resumed. */
export const readRecentMinutes = (db: Db, limit: number) =>
  many<CampaignKey & Minutes>(db)`
    select c.project_id as "projectId", c.id, sum(m.sent + m.failed)::int as attempted, sum(m.bounced)::int as bounced,
      sum(m.complained)::int as complained
    from campaign_minutes m join campaigns c on c.project_id = m.project_id and c.id = m.campaign_id
    where m.minute > now() - interval '10 minutes' and c.status = 'SENDING' and c.paused_reason is null
      and (c.resumed_at is null or m.minute > c.resumed_at)
    group by 1, 2 having sum(m.bounced) + sum(m.complained) > 0
    limit ${limit}
  `
