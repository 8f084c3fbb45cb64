import { type RawBuilder, sql } from 'kysely'
import { defineSums, type RepairScope } from '../ledger/repair.ts'
import { countableSince, emailPage, lastOfEmailPage } from '../projects/email-counts.ts'
import { factsOfEmailsSql, factsOfEntriesSql, ROLLUPS } from './rollup.ts'

const { email_hours: hours, email_days: days, email_domain_days: domains } = ROLLUPS

const isCountable = ({ projectId }: RepairScope) => sql`day >= ${countableSince(projectId)}`

/** Counts all emails of a project. */
const fromEmails = ({ rowsOf }: (typeof ROLLUPS)[keyof typeof ROLLUPS]) => ({
  waiting: (projectId: RawBuilder<unknown>) =>
    rowsOf(factsOfEntriesSql(sql`select * from email_ledger where project_id = ${projectId} and email_ids is not null`)),
  actual: (scope: RepairScope) => rowsOf(factsOfEmailsSql(emailPage(scope))),
  nextPage: lastOfEmailPage,
})

/** Roll-ups of emails. Days are compared with the hours, which are added to in the same transactions. */
export const rollupSums = defineSums({
  name: 'roll-ups',
  sums: {
    email_hours: {
      ...hours,
      ...fromEmails(hours),
      within: ({ projectId }) => sql`hour >= (${countableSince(projectId)}::timestamp at time zone 'utc')`,
    },
    email_days: {
      ...days,
      within: isCountable,
      actual: ({ projectId }) => sql`
        select (hour at time zone 'utc')::date as day, ${sql.join([...days.key.slice(1), ...days.values].map((column) => sql.ref(column)))}
        from email_hours where project_id = ${projectId}`,
    },
    email_domain_days: { ...domains, ...fromEmails(domains), within: isCountable },
  },
})
