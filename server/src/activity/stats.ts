import { sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, one, scalar, scalars } from '../db/index.ts'
import { activityLedger, countActivities } from '../events/activities.ts'
import { allCounts } from '../events/counts.ts'
import { type Days, inDaysSql } from '../events/day.ts'
import { lowestId } from '../lib/id.ts'
import { percent } from '../lib/text/percent.ts'
import { MINUTE } from '../lib/text/units.ts'
import { ACTIVITY_TYPES, IS_TRIGGERED, typeOfEvent } from './type.ts'

export const ActivityStats = z
  .object({
    totalEvents: z.int().describe('Events that were tracked, and entries and exits of segments.'),
    totalEmailsSent: z.int(),
    totalEmailsOpened: z.int().describe('Emails that people opened, each once.'),
    totalEmailsClicked: z.int().describe('Emails in which people clicked, each once.'),
    totalWorkflowsStarted: z.int(),
    openRate: z.number().describe('Percent of the sent emails, with one decimal.'),
    clickRate: z.number(),
  })
  .meta({ id: 'ActivityStats' })

/** Between two UTC days; without them of all time. */
export async function readActivityStats(db: Db, projectId: string, days: Days): Promise<z.output<typeof ActivityStats>> {
  const { sent, opened, clicked } = await one<{ sent: number; opened: number; clicked: number }>(db)`
    select coalesce(sum(sent), 0)::int as sent, coalesce(sum(opened), 0)::int as opened, coalesce(sum(clicked), 0)::int as clicked
    from email_days where project_id = ${projectId} ${inDaysSql(days)}
  `
  return {
    totalEvents: await scalar<number>(db)`
      select coalesce(sum(count), 0)::float8 from ${allCounts(projectId, sql`and ${IS_TRIGGERED} ${inDaysSql(days)}`)}
    `,
    totalEmailsSent: sent,
    totalEmailsOpened: opened,
    totalEmailsClicked: clicked,
    totalWorkflowsStarted: await countActivities(db, projectId, ['workflow.started'], days),
    openRate: percent(opened, sent),
    clickRate: percent(clicked, sent),
  }
}

/** Counting stops here. */
export const MAX_RECENT = 100_000

/** Events and activities of the last minutes. */
export async function countRecent(db: Db, projectId: string, minutes: number): Promise<number> {
  const since = lowestId(new Date(Date.now() - minutes * MINUTE))
  const recent = (table: string) =>
    countRows(db, sql`select 1 from ${sql.table(table)} where project_id = ${projectId} and id >= ${since} limit ${MAX_RECENT}`)
  return Math.min(MAX_RECENT, (await recent('events')) + (await recent('activities')))
}

/** The types that have happened in the project. */
export async function listSeenTypes(db: Db, projectId: string) {
  const events = await scalars<string>(db)`
    select distinct case when ${IS_TRIGGERED} then 'triggered' else name end from ${allCounts(projectId)} where count > 0
  `
  const recorded = await scalars<string>(db)`
    select type from ${activityLedger.readSql('activity_counts', projectId)} group by type having sum(count) > 0
  `
  const seen = new Set<string>([...events.map(typeOfEvent), ...recorded])
  return ACTIVITY_TYPES.filter((type) => seen.has(type))
}
