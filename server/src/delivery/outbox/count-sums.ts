import { sql } from 'kysely'
import type { Tx } from '../../db/index.ts'
import { defineSums } from '../../ledger/repair.ts'
import {
  countableSince,
  countsOfEmailsSql,
  countsOfSql,
  emailPage,
  hourSql,
  lastOfEmailPage,
  lockEmailCounts,
  sourceSql,
} from '../../projects/email-counts.ts'

/** Counts of usage and reputation, and the usage of current periods. */
export const emailCountSums = defineSums({
  name: 'email counts',
  sums: {
    email_counts: {
      key: ['kind', 'hour'],
      values: ['count'],
      waiting: (projectId) => sql`select project_id, kind, hour, n from ${countsOfSql()} as changes where project_id = ${projectId}`,
      actual: (scope) => countsOfEmailsSql(emailPage(scope)),
      nextPage: lastOfEmailPage,
      // A reset removes emails and keeps their counts, and housekeeping removes old counts.
      within: ({ projectId }) => sql`hour >= (
        select greatest((${countableSince(projectId)}::timestamp at time zone 'utc'), ${hourSql(sql`reset_at`)} + interval '1 hour',
          now() - interval '399 days') from projects where id = ${projectId})`,
      correct: appendCorrections,
    },
    usage_periods: {
      key: ['category', 'period_start'],
      values: ['used'],
      rows: 'existing',
      lock: lockEmailCounts,
      actual: ({ projectId }) => sql`
        select u.category, u.period_start, coalesce(sum(c.count), 0) as used
        from usage_periods u left join email_counts c on c.project_id = u.project_id and c.kind = u.category and c.hour >= u.period_start
        where u.project_id = ${projectId} group by 1, 2`,
    },
  },
})

/** Corrections are entries of the ledger, so that they reach whatever adds up counts: periods, reputations and reports of usage. */
async function appendCorrections(tx: Tx, differences: object[]) {
  await sql`
    insert into email_ledger (project_id, kind, n, source, hour)
    select project_id, case when ${sourceSql(sql`kind`)} is null then kind else 'accepted' end, count, ${sourceSql(sql`kind`)}, hour
    from jsonb_populate_recordset(null::email_counts, ${JSON.stringify(differences)}::jsonb)
  `.execute(tx)
}
