import { sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, many, type Pool } from '../db/index.ts'
import { withStatementTimeout } from '../db/statement-timeout.ts'
import { pageInfo } from '../http/core/paging.ts'
import { Timestamp } from '../http/core/validate.ts'
import { lowestId } from '../lib/id.ts'
import { DAY, SECOND } from '../lib/text/units.ts'
import { allCounts } from './counts.ts'
import { isReserved } from './name.ts'

const DAYS = 30
/** Longest time to count people: their number is read from the events themselves. */
const PEOPLE_MS = 2 * SECOND

export const EventNameDetails = z
  .object({
    name: z.string(),
    isReserved: z.boolean().describe('Recorded by the service itself.'),
    count: z.int().describe('Events of all time.'),
    people: z.int().nullable().describe(`Contacts with such an event in the last ${DAYS} days. Null when counting them takes too long.`),
    lastSeenAt: Timestamp.nullable(),
    days: z.array(z.int()).describe(`Events on each of the last ${DAYS} UTC days, today last.`),
  })
  .meta({ id: 'EventNameDetails' })

type Page = { page: number; pageSize: number }

/** A page of event names, the most frequent first. */
export async function listNameDetails(db: Pool, projectId: string, { page, pageSize }: Page) {
  const listed = await many<{ name: string; count: number }>(db)`
    select name, sum(count)::float8 as count from ${allCounts(projectId)} group by name having sum(count) > 0
    order by 2 desc, 1 limit ${pageSize} offset ${(page - 1) * pageSize}
  `
  const names = listed.map(({ name }) => name)
  const [total, days, lastSeen, people] = [
    await countNames(db, projectId),
    await countDays(db, projectId, names),
    await findLast(db, projectId, names),
    await countPeople(db, projectId, names),
  ]
  const data = listed.map(({ name, count }) => ({
    name,
    isReserved: isReserved(name),
    count,
    people: people ? (people.get(name) ?? 0) : null,
    lastSeenAt: lastSeen.get(name) ?? null,
    days: days.get(name) ?? Array<number>(DAYS).fill(0),
  }))
  return { data, ...pageInfo(total, { page, pageSize }) }
}

const countNames = (db: Db, projectId: string) =>
  countRows(db, sql`select name from ${allCounts(projectId)} group by name having sum(count) > 0`)

async function countDays(db: Db, projectId: string, names: string[]) {
  const rows = await many<{ name: string; age: number; count: number }>(db)`
    select name, (now() at time zone 'utc')::date - day as age, sum(count)::float8 as count
    from ${allCounts(projectId, sql`and name = any(${names}::text[]) and day > (now() at time zone 'utc')::date - ${DAYS}::int`)}
    group by 1, 2
  `
  const days = new Map(names.map((name) => [name, Array<number>(DAYS).fill(0)]))
  // An event of tomorrow is that of a node whose clock is ahead.
  for (const { name, age, count } of rows) days.get(name)![DAYS - 1 - Math.max(0, age)]! += count
  return days
}

async function findLast(db: Db, projectId: string, names: string[]) {
  const rows = await many<{ name: string; at: Date }>(db)`
    select n.name, (
      select e.created_at from events e where e.project_id = ${projectId} and e.name = n.name order by e.id desc limit 1
    ) as at
    from unnest(${names}::text[]) as n(name)
  `
  return new Map(rows.filter(({ at }) => at).map(({ name, at }) => [name, at]))
}

const countPeople = (db: Pool, projectId: string, names: string[]) =>
  withStatementTimeout(db, PEOPLE_MS, (tx) => readPeople(tx, projectId, names))

async function readPeople(db: Db, projectId: string, names: string[]) {
  const rows = await many<{ name: string; people: number }>(db)`
    select name, count(distinct contact_id)::int as people from events
    where project_id = ${projectId} and name = any(${names}::text[]) and id >= ${lowestId(new Date(Date.now() - DAYS * DAY))}
    group by name
  `
  return new Map(rows.map(({ name, people }) => [name, people]))
}
