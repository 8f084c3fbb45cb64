import { sql } from 'kysely'
import { z } from 'zod'
import { contactLedger, countContacts } from '../contacts/record/counts.ts'
import { type Db, many, one } from '../db/index.ts'
import { daysOf, type Period } from './period.ts'

export const GrowthFields = {
  newContacts: z.int().describe('Contacts that were created.'),
  newSubscribers: z.int().describe('Contacts that were created as subscribed, or became it.'),
  unsubscribed: z.int().describe('Contacts that became unsubscribed, by whatever means.'),
  deletedContacts: z.int(),
}
type GrowthCounts = { [Name in keyof typeof GrowthFields]: number }

const NO_GROWTH: GrowthCounts = { newContacts: 0, newSubscribers: 0, unsubscribed: 0, deletedContacts: 0 }

const allDays = (projectId: string, { from, to }: Period) => sql`
  ${contactLedger.readSql('contact_days', projectId)} where day >= ${from}::date and day <= ${to}::date`

const GROWTH_SUMS = sql`coalesce(sum(created), 0)::int as "newContacts", coalesce(sum(created_subscribed + opted_in), 0)::int as "newSubscribers",
  coalesce(sum(opted_out), 0)::int as unsubscribed, coalesce(sum(deleted), 0)::int as "deletedContacts"`

export const readGrowthTotals = (db: Db, projectId: string, period: Period) =>
  one<GrowthCounts>(db)`select ${GROWTH_SUMS} from ${allDays(projectId, period)}`

/** By day without gaps, and by source. */
export async function readGrowth(db: Db, projectId: string, period: Period) {
  const byDay = await many<GrowthCounts & { date: string }>(db)`
    select day::text as date, ${GROWTH_SUMS} from ${allDays(projectId, period)} group by day
  `
  const sources = await many<GrowthCounts & { source: string }>(db)`
    select source, ${GROWTH_SUMS} from ${allDays(projectId, period)} group by source
    having sum(created + opted_in + opted_out + deleted) > 0 order by sum(created) desc, source limit 100
  `
  const counted = new Map(byDay.map((day) => [day.date, day]))
  const { total, subscribed } = await countContacts(db, projectId)
  return { days: daysOf(period).map((date) => counted.get(date) ?? { date, ...NO_GROWTH }), sources, total, subscribed }
}
