import { type RawBuilder, sql } from 'kysely'
import type { TallyKind } from './tallies.ts'

/**
 * Facts that happen to an email at most once, with the time at which they did: an expression on the email `e` and its `email_hits` row `h`,
 * null if it has not happened. Rows of `email_facts` tell the roll-ups of analytics which are new. A fact is never taken back: an email that
 * the provider accepted and later refused was sent.
 */
export const FACT_TIMES = {
  sent: sql`e.sent_at`,
  delivered: sql`e.delivered_at`,
  opened: sql`e.opened_at`,
  clicked: sql`e.clicked_at`,
  // Rows of before the times were stored have none.
  machineOpened: sql`case when h.machine_opened then coalesce(h.machine_opened_at, e.sent_at, e.created_at) end`,
  machineClicked: sql`case when h.machine_clicked then coalesce(h.machine_clicked_at, e.sent_at, e.created_at) end`,
  bounced: sql`e.bounced_at`,
  complained: sql`e.complained_at`,
  unsubscribed: sql`e.unsubscribed_at`,
} satisfies Partial<Record<TallyKind, RawBuilder<unknown>>>

/** Emails whose facts count: neither test emails nor received ones. */
export const IS_COUNTED = sql`not e.test and e.source_type <> 'INBOUND'`

export type FactKind = keyof typeof FACT_TIMES

const FACT_KINDS = new Set<string>(Object.keys(FACT_TIMES))

/** True for changes of counters that are new facts. */
export const isNewFact = ({ kind, n = 1, test }: { kind: TallyKind; n?: number; test: boolean }) => n > 0 && !test && FACT_KINDS.has(kind)

/** Appends facts of one kind, given as rows of ("projectId", id). */
export const insertFactsSql = (kind: FactKind, emails: RawBuilder<unknown>) => sql`
  insert into email_facts (project_id, kind, email_ids)
  select "projectId", ${sql.lit(kind)}, array_agg(id) from (${emails}) as emails group by 1`

/**
 * Takes up to `limit` rows of a project out of the table and returns (project_id, kind, email_ids). None while the project is being wiped. They are
 * chosen once, as an array: with the statistics of an empty table, the planner would repeat the search for each row.
 */
export const takeFactsSql = (projectId: string, limit: number) => sql`
  delete from email_facts where project_id = ${projectId} and id = any(array(
    select id from email_facts where project_id = ${projectId}
      and not exists (select from project_wipes w where w.project_id = ${projectId})
    order by id limit ${limit}))
  returning project_id, kind, email_ids`
