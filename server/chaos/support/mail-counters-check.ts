import { type RawBuilder, sql } from 'kysely'
import { factsOfEmailsSql, factsOfEntriesSql, ROLLUPS } from '../../src/analytics/rollup.ts'
import { countsOfEmailsSql, countsOfSql } from '../../src/projects/email-counts.ts'
import { checkRules } from './check.ts'

/** The roll-ups of analytics and the counts of caps and reputation equal what the emails say, with what still waits in the ledger. */
export const checkMailCounters = (projectId: string) => {
  const emails = sql`select * from emails where project_id = ${projectId}`
  const entries = sql`select * from email_ledger where project_id = ${projectId} and email_ids is not null`
  const rollups = Object.entries(ROLLUPS).map(([table, { key, values, rowsOf }]) => [
    `${table} that differ from the emails`,
    differencesSql([...key], values, {
      there: rowsOf(factsOfEmailsSql(emails)),
      counted: [sql`select * from ${sql.table(table)} where project_id = ${projectId}`, rowsOf(factsOfEntriesSql(entries))],
    }),
  ])
  return checkRules({
    ...Object.fromEntries(rollups),
    'counts of caps and reputation that differ from the emails': differencesSql(['kind', 'hour'], ['count'], {
      there: countsOfEmailsSql(emails),
      counted: [
        sql`select * from email_counts where project_id = ${projectId}`,
        sql`select kind, hour, n as count from ${countsOfSql()} as changes where project_id = ${projectId}`,
      ],
    }),
  })
}

type Compared = { there: RawBuilder<unknown>; counted: RawBuilder<unknown>[] }

/** Keys with what is to be added to the counted values. */
function differencesSql(key: string[], values: string[], { there, counted }: Compared) {
  const list = (write: (column: RawBuilder<unknown>) => RawBuilder<unknown>) => sql.join(values.map((column) => write(sql.ref(column))))
  const keys = sql.join(key.map((column) => sql.ref(column)))
  const rows = counted.map((select) => sql`union all select ${keys}, ${list((column) => sql`-${column}`)} from (${select}) as counted`)
  const isWrong = sql.join(
    values.map((column) => sql`sum(${sql.ref(column)}) <> 0`),
    sql` or `,
  )
  return sql`
    select ${keys}, ${list((column) => sql`sum(${column}) as ${column}`)}
    from (select ${keys}, ${list((column) => column)} from (${there}) as there ${sql.join(rows, sql` `)}) as compared
    group by ${keys} having ${isWrong}`
}
