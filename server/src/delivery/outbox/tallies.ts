import { type RawBuilder, sql } from 'kysely'
import { many, type Tx } from '../../db/index.ts'
import { groupBy } from '../../lib/group-by.ts'
import { isNewFact } from './facts.ts'

/**
 * Facts about the emails of a campaign that are counted, each at most once per email, with the condition on an email `e` that holds for the
 * counted ones. Test emails are not counted.
 */
export const TALLY_KINDS = {
  sent: sql`e.state = 'sent'`,
  failed: sql`e.state = 'failed'`,
  skipped: sql`e.state in ('skipped', 'cancelled')`,
  delivered: sql`e.delivered_at is not null`,
  bounced: sql`e.bounced_at is not null`,
  complained: sql`e.complained_at is not null`,
  // By people.
  opened: sql`e.opened_at is not null`,
  clicked: sql`e.clicked_at is not null`,
  machineOpened: sql`exists (select from email_hits h where h.project_id = e.project_id and h.email_id = e.id and h.machine_opened)`,
  machineClicked: sql`exists (select from email_hits h where h.project_id = e.project_id and h.email_id = e.id and h.machine_clicked)`,
  // By a link of that very email.
  unsubscribed: sql`e.unsubscribed_at is not null`,
} satisfies Record<string, RawBuilder<unknown>>

export type TallyKind = keyof typeof TALLY_KINDS

/** A change of a counter. Negative when a fact was corrected. */
export type Tally = { projectId: string; campaignId: string; kind: TallyKind; n: number }

type CountedEmail = { projectId: string; id: string; campaignId: string | null; test: boolean }
type Change = CountedEmail & { kind: TallyKind; n?: number }

/**
 * Writes what happened to emails, in one statement: a row per campaign and kind for its counters, and a row per project and kind for the
 * roll-ups of analytics.
 */
export async function addTallies(tx: Tx, changes: Change[]) {
  const tallies = talliesOf(changes)
  const facts = factsOf(changes)
  if (!tallies.length && !facts.length) return
  await sql`
    with facts as (
      insert into email_facts (project_id, kind, email_ids)
      select "projectId", kind, ids from jsonb_to_recordset(${JSON.stringify(facts)}::jsonb) as f("projectId" uuid, kind text, ids uuid[])
    )
    insert into email_tallies (project_id, campaign_id, kind, n)
    select "projectId", "campaignId", kind, n
    from jsonb_to_recordset(${JSON.stringify(tallies)}::jsonb) as t("projectId" uuid, "campaignId" uuid, kind text, n int)
  `.execute(tx)
}

function talliesOf(changes: Change[]): Tally[] {
  const sums = new Map<string, Tally>()
  for (const { projectId, campaignId, test, kind, n = 1 } of changes) {
    if (!campaignId || test) continue
    const key = `${campaignId} ${kind}`
    const sum = sums.get(key) ?? { projectId, campaignId, kind, n: 0 }
    sums.set(key, { ...sum, n: sum.n + n })
  }
  return [...sums.values()].filter(({ n }) => n !== 0)
}

function factsOf(changes: Change[]) {
  const byKind = groupBy(changes.filter(isNewFact), ({ projectId, kind }) => `${projectId} ${kind}`)
  return [...byKind.values()].map((same) => ({ projectId: same[0]!.projectId, kind: same[0]!.kind, ids: same.map(({ id }) => id) }))
}

/** The same as a statement, for rows of ("projectId", "campaignId", test, kind, n) of the same statement. */
export const insertTalliesSql = (changes: RawBuilder<unknown>) => sql`
  insert into email_tallies (project_id, campaign_id, kind, n)
  select "projectId", "campaignId", kind, sum(n) from (${changes}) as changes
  where "campaignId" is not null and not test group by 1, 2, 3 having sum(n) <> 0`

export type TakenTally = Tally & {
  /** Start of the minute in which it was written. */
  minute: Date
}

/**
 * Takes up to `limit` rows out of the table and returns their sums, in the order of campaigns: the caller adds them to its counters in the same
 * transaction, in this order. Several workers may take at once.
 */
export const takeTallies = (tx: Tx, limit: number) =>
  many(
    tx,
    sql<TakenTally>`
      with taken as (
        delete from email_tallies where ctid = any(array(
          select ctid from email_tallies order by project_id, id limit ${limit} for update skip locked))
        returning project_id, campaign_id, kind, n, at
      )
      select project_id as "projectId", campaign_id as "campaignId", kind, sum(n)::int as n, date_trunc('minute', at) as minute
      from taken group by 1, 2, 3, 5 order by 1, 2, 3, 5
    `,
  )

/** Counts the emails of a campaign anew: one row with a number for each kind. Reads all of them. */
export const recountSql = ({ projectId, campaignId }: { projectId: string; campaignId: string }) => {
  const counts = Object.entries(TALLY_KINDS).map(([kind, condition]) => sql`count(*) filter (where ${condition})::int as ${sql.ref(kind)}`)
  return sql<Record<TallyKind | 'total', number>>`
    select count(*)::int as total, ${sql.join(counts)}
    from emails e where e.project_id = ${projectId} and e.campaign_id = ${campaignId} and not e.test`
}
