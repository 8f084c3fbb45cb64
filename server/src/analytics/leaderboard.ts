import { sql } from 'kysely'
import { type Db, many } from '../db/index.ts'
import { inDaysSql } from '../events/day.ts'
import { NIL_ID } from '../lib/id.ts'
import { FIGURE_SUMS, type FigureCounts, ratesOf } from './figures.ts'
import type { Period } from './period.ts'

export const LEADERBOARDS = ['campaign', 'template', 'workflow'] as const
type Board = (typeof LEADERBOARDS)[number]

/** Table with the names. One that was deleted has none, and its figures stay. */
const TABLES = { campaign: 'campaigns', template: 'templates', workflow: 'workflows' } as const

/** Campaigns, templates or workflows whose emails were clicked most in the period; those with few emails last. */
export async function listLeaders(db: Db, projectId: string, { by, limit, period }: { by: Board; limit: number; period: Period }) {
  const id = sql.ref(`${by}_id`)
  const rows = await many<FigureCounts & { id: string; name: string | null }>(db)`
    select led.*, t.name from (
      select ${id} as id, ${FIGURE_SUMS} from email_days
      where project_id = ${projectId} ${inDaysSql(period)} and ${id} <> ${NIL_ID}
      group by 1 having sum(sent) + sum(opened) + sum(clicked) > 0
      order by sum(sent) < ${FEW_EMAILS}, sum(clicked)::float8 / greatest(sum(sent), 1) desc, sum(opened) desc, 1 limit ${limit}
    ) as led left join ${sql.table(TABLES[by])} t on t.project_id = ${projectId} and t.id = led.id
  `
  return rows.map((row) => ({ ...row, ...ratesOf(row) }))
}
/** Rates of fewer emails say little. */
const FEW_EMAILS = 50
