import { sql } from 'kysely'
import { countAffected, one, type Tx } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { lockContactCounts, TODAY, UNKNOWN_SOURCE } from './counts.ts'

/** The UTC day of a row. */
const DAY_OF = sql`(created_at at time zone 'utc')::date`

/** Contacts that are being deleted, as a statement returned them. */
export type DeletedContact = { id: string; subscribed: boolean; createdAt: Date; createdBy: string | null }

/**
 * Counts deleted contacts on this day, and notes what the days have about them: their rows cannot be counted anew. A contact started with the
 * opposite of its first change, or as it is. Call it before their consents are deleted.
 */
export async function countDeleted(tx: Tx, projectId: string, contacts: DeletedContact[]) {
  const rows = contacts.map(({ id, subscribed, createdAt, createdBy }) => ({
    id,
    subscribed,
    created_at: createdAt,
    created_by: createdBy,
  }))
  await sql`
    with given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as c(id uuid, subscribed boolean, created_at timestamptz, created_by text)
    ), counted as (
      select day, source, sum(created) as created, sum(created_subscribed) as created_subscribed, sum(opted_in) as opted_in,
        sum(opted_out) as opted_out, sum(deleted) as deleted
      from (
        ${countsOf(projectId, sql`given`, sql`and contact_id in (select id from given)`)}
        union all
        select ${TODAY}, coalesce(created_by, ${UNKNOWN_SOURCE}), 0, 0, 0, 0, count(*) from given group by 1, 2
      ) as each group by 1, 2
    )
    insert into contact_days as d (project_id, day, source, deleted, gone_created, gone_created_subscribed, gone_opted_in, gone_opted_out)
    select ${projectId}, day, source, deleted, created, created_subscribed, opted_in, opted_out from counted
    order by 2, 3 -- consistent lock order: avoids deadlocks
    on conflict (project_id, day, source) do update set deleted = d.deleted + excluded.deleted,
      gone_created = d.gone_created + excluded.gone_created,
      gone_created_subscribed = d.gone_created_subscribed + excluded.gone_created_subscribed,
      gone_opted_in = d.gone_opted_in + excluded.gone_opted_in, gone_opted_out = d.gone_opted_out + excluded.gone_opted_out
  `.execute(tx)
}

/** What contacts and their consents say about the days, by day and source. */
const countsOf = (projectId: string, contacts: ReturnType<typeof sql>, ofThese: ReturnType<typeof sql>) => sql`
        select ${DAY_OF} as day, coalesce(created_by, ${UNKNOWN_SOURCE}) as source, count(*) as created,
          count(*) filter (where coalesce(not first.subscribed, c.subscribed)) as created_subscribed, 0 as opted_in, 0 as opted_out, 0 as deleted
        from ${contacts} as c left join (
          select distinct on (contact_id) contact_id, subscribed from consents where project_id = ${projectId} ${ofThese} order by contact_id, id
        ) as first on first.contact_id = c.id
        group by 1, 2
        union all
        select ${DAY_OF}, source, 0, 0, count(*) filter (where subscribed), count(*) filter (where not subscribed), 0
        from consents where project_id = ${projectId} ${ofThese} group by 1, 2`

/** Time for millions of contacts. */
const RECOUNT_MS = 14_000

/**
 * Counts the days of a project anew: contacts, consents, and what is noted about deleted ones; without what still waits in `contact_counts`,
 * which is read in the same snapshot. Returns the number of days and sources that were wrong.
 */
export async function recountContactDays(tx: Tx, projectId: string): Promise<number> {
  await lockContactCounts(tx)
  await sql`set local statement_timeout = ${sql.lit(RECOUNT_MS)}`.execute(tx)
  const { wrong } = await one(
    tx,
    sql<{ wrong: number }>`
      with actual as materialized (
        select day, source, sum(created)::int as created, sum(created_subscribed)::int as created_subscribed, sum(opted_in)::int as opted_in,
          sum(opted_out)::int as opted_out
        from (
          ${countsOf(projectId, sql`(select * from contacts where project_id = ${projectId})`, sql``)}
          union all
          select day, source, gone_created, gone_created_subscribed, gone_opted_in, gone_opted_out, 0 from contact_days
          where project_id = ${projectId}
          union all
          select day, coalesce(source, ${UNKNOWN_SOURCE}), -created, -created_subscribed, -opted_in, -opted_out, 0 from contact_counts
          where project_id = ${projectId} and day is not null
        ) as each group by 1, 2
      ), corrected as (
        insert into contact_days as d (project_id, day, source, created, created_subscribed, opted_in, opted_out)
        select ${projectId}, day, source, created, created_subscribed, opted_in, opted_out from actual
        where created <> 0 or created_subscribed <> 0 or opted_in <> 0 or opted_out <> 0
          or exists (select from contact_days d where d.project_id = ${projectId} and d.day = actual.day and d.source = actual.source)
        on conflict (project_id, day, source) do update set created = excluded.created, created_subscribed = excluded.created_subscribed,
          opted_in = excluded.opted_in, opted_out = excluded.opted_out
        where (d.created, d.created_subscribed, d.opted_in, d.opted_out)
          is distinct from (excluded.created, excluded.created_subscribed, excluded.opted_in, excluded.opted_out)
        returning 1
      )
      select count(*)::int as wrong from corrected
    `,
  )
  return wrong
}

/** For a project reset or deletion. No day is added meanwhile (`compactCounts`). */
export const wipeContactDays = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'contact_days', scope, { key: ['day', 'source'], which: sql`true` })

/** What waits in `contact_counts` about the deleted contacts. */
export const wipeContactChanges = (tx: Tx, { projectId, before }: WipeScope) =>
  countAffected(
    tx,
    sql`
      update contact_counts set day = null, created = 0, created_subscribed = 0, opted_in = 0, opted_out = 0
      where project_id = ${projectId} and created_at <= ${before}::timestamptz and day is not null
    `,
  )
