import { sql } from 'kysely'
import { type Db, many, one, type Pool, type Tx, transact } from '../../db/index.ts'
import { recountSql, TALLY_KINDS, type TakenTally, type TallyKind, takeTallies } from '../../delivery/outbox/tallies.ts'
import { lock } from '../../ledger/locks.ts'
import type { CampaignKey } from '../draft/campaign.ts'

/** The column of each kind. */
const COLUMN_OF: Record<TallyKind, string> = {
  sent: 'sent_count',
  failed: 'failed_count',
  skipped: 'skipped_count',
  delivered: 'delivered_count',
  opened: 'opened_count',
  clicked: 'clicked_count',
  machineOpened: 'machine_opened_count',
  machineClicked: 'machine_clicked_count',
  bounced: 'bounced_count',
  complained: 'complained_count',
  unsubscribed: 'unsubscribed_count',
}
const KINDS = Object.keys(TALLY_KINDS) as TallyKind[]

/** Rows of one transaction; what is left is taken by the next one. */
const FOLDED = 10_000
/** Transactions of one run. */
const MAX_ROUNDS = 20

/** Adds what happened to emails to the counters of their campaigns. Several workers may do this at once. */
export async function foldTallies(db: Pool) {
  for (let round = 0; round < MAX_ROUNDS; round++) if (!(await transact(db, (tx) => foldSome(tx)))) return
}

/** Returns whether there were any. */
async function foldSome(tx: Tx): Promise<boolean> {
  const taken = await takeTallies(tx, FOLDED)
  if (!taken.length) return false
  await addToCounters(tx, taken)
  await addToMinutes(tx, taken)
  return true
}

type Change = Pick<TakenTally, 'projectId' | 'campaignId' | 'kind' | 'n'>

/** Locks the rows in the order of their keys: consistent lock order. */
async function addToCounters(tx: Tx, changes: Change[]) {
  const keys = [...new Set(changes.map(({ campaignId }) => campaignId))]
  await sql`select from campaigns where id = any(${keys}::uuid[]) and project_id = any(${changes.map(({ projectId }) => projectId)}::uuid[])
    order by project_id, id for no key update`.execute(tx)
  const sums = KINDS.map((kind) => sql`coalesce(sum(n) filter (where kind = ${sql.lit(kind)}), 0) as ${sql.ref(kind)}`)
  const sets = KINDS.map((kind) => sql`${sql.ref(COLUMN_OF[kind])} = ${sql.ref(`c.${COLUMN_OF[kind]}`)} + ${sql.ref(`t.${kind}`)}`)
  await sql`
    update campaigns c set ${sql.join(sets)}
    from (
      select "projectId", "campaignId", ${sql.join(sums)}
      from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as t("projectId" uuid, "campaignId" uuid, kind text, n int)
      group by 1, 2
    ) as t
    where c.project_id = t."projectId" and c.id = t."campaignId"
  `.execute(tx)
}

/** Kinds that a spike is judged by. */
const BY_MINUTE: TallyKind[] = ['sent', 'failed', 'bounced', 'complained']

async function addToMinutes(tx: Tx, taken: TakenTally[]) {
  const rows = taken.filter(({ kind }) => BY_MINUTE.includes(kind))
  if (!rows.length) return
  const sums = BY_MINUTE.map((kind) => sql`coalesce(sum(n) filter (where kind = ${sql.lit(kind)}), 0) as ${sql.ref(kind)}`)
  await sql`
    insert into campaign_minutes as m (project_id, campaign_id, minute, sent, failed, bounced, complained)
    select "projectId", "campaignId", minute, ${sql.join(sums)}
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as t("projectId" uuid, "campaignId" uuid, kind text, n int, minute timestamptz)
    -- Emails outlive their campaign.
    where exists (select from campaigns c where c.project_id = t."projectId" and c.id = t."campaignId")
    group by 1, 2, 3 order by 1, 2, 3
    on conflict (project_id, campaign_id, minute) do update set
      sent = m.sent + excluded.sent, failed = m.failed + excluded.failed, bounced = m.bounced + excluded.bounced,
      complained = m.complained + excluded.complained
  `.execute(tx)
}

/** Deletes minutes that no spike is judged by any more. */
export const dropOldMinutes = (tx: Tx) => sql`delete from campaign_minutes where minute < now() - interval '1 hour'`.execute(tx)

type Counters = Record<TallyKind | 'total', number>
export type Recount = { total: number; counted: Counters; pending: number }

/**
 * Counts the emails of a campaign anew and corrects its counters by the difference. What is counted, the counters and the tallies that are
 * not yet added to them are read in one statement: their sum is the same, whatever other workers add meanwhile. One recount of a campaign at a
 * time. Counters that are closed stay as they are: their emails are being removed.
 */
export async function recountCampaign(tx: Tx, { projectId, id }: CampaignKey): Promise<Recount & { wrong: Partial<Counters> }> {
  await sql`set local statement_timeout = ${sql.lit(RECOUNT_MS)}`.execute(tx)
  await lock(tx, 'campaign', id)
  const stored = KINDS.map((kind) => sql`${sql.lit(kind)}::text, ${sql.ref(`c.${COLUMN_OF[kind]}`)}`)
  const read = await one(
    tx,
    sql<{ total: number; counted: Counters; stored: Counters; waiting: Partial<Counters>; pending: number; closed: boolean }>`
      select c.total_recipients as total, c.counters_closed_at is not null as closed, jsonb_build_object(${sql.join(stored)}) as stored,
        (select to_jsonb(counted) from (${recountSql({ projectId, campaignId: id })}) as counted) as counted,
        (select coalesce(jsonb_object_agg(kind, n), '{}') from (
          select kind, sum(n)::int as n from email_tallies t where t.project_id = ${projectId} and t.campaign_id = ${id} group by kind
        ) as waiting) as waiting,
        (select count(*)::int from email_tallies t where t.project_id = ${projectId} and t.campaign_id = ${id}) as pending
      from campaigns c where c.project_id = ${projectId} and c.id = ${id}
    `,
  )
  if (read.closed) return { total: read.total, counted: { ...read.stored, total: read.total }, pending: read.pending, wrong: {} }
  const wrong: Partial<Counters> = {}
  for (const kind of KINDS) {
    const difference = read.counted[kind] - read.stored[kind] - (read.waiting[kind] ?? 0)
    if (difference) wrong[kind] = difference
  }
  const changes = Object.entries(wrong).map(([kind, n]) => ({ projectId, campaignId: id, kind: kind as TallyKind, n: n! }))
  if (changes.length) await addToCounters(tx, changes)
  await sql`update campaigns set recounted_at = clock_timestamp() where project_id = ${projectId} and id = ${id}`.execute(tx)
  return { total: read.total, counted: read.counted, pending: read.pending, wrong }
}
/** Enough for millions of emails. */
const RECOUNT_MS = 14_000

/** `attempted`: sent, or failed, since a receiver may refuse an address during transmission. */
export type Minutes = { attempted: number; bounced: number; complained: number }

/** The campaigns that are being sent, with what happened in the last ten minutes, or since they were resumed. */
export const readRecentMinutes = (db: Db, limit: number) =>
  many(
    db,
    sql<CampaignKey & Minutes>`
      select c.project_id as "projectId", c.id, sum(m.sent + m.failed)::int as attempted, sum(m.bounced)::int as bounced,
        sum(m.complained)::int as complained
      from campaign_minutes m join campaigns c on c.project_id = m.project_id and c.id = m.campaign_id
      where m.minute > now() - interval '10 minutes' and c.status = 'SENDING' and c.paused_reason is null
        and (c.resumed_at is null or m.minute > c.resumed_at)
      group by 1, 2 having sum(m.bounced) + sum(m.complained) > 0
      limit ${limit}
    `,
  )
