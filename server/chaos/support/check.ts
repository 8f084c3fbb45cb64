import { type RawBuilder, sql } from 'kysely'
import { connect, many, type Tx } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { checkMailCounters } from './mail-counters-check.ts'

/** A rule that does not hold, and its counterexamples. */
export type Broken = { rule: string; cases: string[] }
export type Check = (tx: Tx) => Promise<Broken[]>

/** Events of subscription changes. */
export const FLIPS = sql`('contact.subscribed', 'contact.unsubscribed')`
/** Counterexamples shown per rule. */
const EXAMPLES = 5

/** Runs all checks in one snapshot of the database, which may keep changing. */
export async function checkDatabase(url: string, checks: Check[]): Promise<Broken[]> {
  const db = connect({ url, max: 1, log: createLog('silent') })
  try {
    return await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => {
        const broken: Broken[] = []
        for (const check of checks) broken.push(...(await check(tx)))
        return broken.filter(({ cases }) => cases.length)
      })
  } catch (err) {
    return [{ rule: 'the database cannot be checked', cases: [(err as Error).message] }]
  } finally {
    await db.destroy()
  }
}

export const describeBroken = ({ rule, cases }: Broken) => `${rule}: ${cases.length}, such as ${cases.slice(0, EXAMPLES).join(', ')}`

/** Each statement returns the rows that break its rule. */
export const checkRules =
  (rules: Record<string, RawBuilder<unknown>>): Check =>
  async (tx) => {
    const broken: Broken[] = []
    for (const [rule, query] of Object.entries(rules)) {
      const rows = await many(tx, query)
      broken.push({ rule, cases: rows.map((row) => JSON.stringify(row)) })
    }
    return broken
  }

/** Contacts, events, consents and all counters agree with each other, whatever was sent. */
export const checkAgreement =
  (projectId: string): Check =>
  async (tx) => [...(await checkContacts(projectId)(tx)), ...(await checkMailCounters(projectId)(tx))]

/** Contacts, events, consents and their counters. */
export const checkContacts = (projectId: string) =>
  checkRules({
    'event counters that differ from the events': sql`
      select coalesce(c.name, e.name) as name, coalesce(c.day, e.day) as day, c.count as counted, e.count as there
      from (
        select name, day, sum(count) as count
        from (
          select name, day, count from event_counts where project_id = ${projectId}
          union all
          select name, day, count from event_count_deltas where project_id = ${projectId}
        ) as both_halves group by 1, 2
      ) c
      full join (select name, id_day(id) as day, count(*) as count from events where project_id = ${projectId} group by 1, 2) e
        on e.name = c.name and e.day = c.day
      where coalesce(c.count, 0) <> coalesce(e.count, 0)
    `,
    'contact counters that differ from the contacts': sql`
      select * from
        (select coalesce(sum(total), 0) as total, coalesce(sum(subscribed), 0) as subscribed
         from (select total, subscribed from contact_counts where project_id = ${projectId}
           union all select total, subscribed from contact_count_deltas where project_id = ${projectId}) as both_halves) counted,
        (select count(*) as total, count(*) filter (where subscribed) as subscribed
         from contacts where project_id = ${projectId}) there
      where (counted.total, counted.subscribed) <> (there.total, there.subscribed)
    `,
    'an event without its contact': sql`
      select e.id, e.name from events e left join contacts c on c.project_id = e.project_id and c.id = e.contact_id
      where e.project_id = ${projectId} and c.id is null
    `,
    'the same subscription change twice in a row': sql`
      select contact_id, id, name from (
        select contact_id, id, name, lag(name) over (partition by contact_id order by id) as before
        from events where project_id = ${projectId} and name in ${FLIPS}
      ) flips where name = before
    `,
    'a subscription that differs from its last change': sql`
      select c.email, c.subscribed, f.name
      from (
        select distinct on (contact_id) contact_id, name
        from events where project_id = ${projectId} and name in ${FLIPS} order by contact_id, id desc
      ) f join contacts c on c.project_id = ${projectId} and c.id = f.contact_id
      where c.subscribed <> (f.name = 'contact.subscribed')
    `,
    'consents that differ from the subscription changes': sql`
      select coalesce(c.contact_id, f.contact_id) as contact_id, c.history as consents, f.history as events
      from (
        select contact_id, array_agg(subscribed order by id) as history
        from consents where project_id = ${projectId} group by 1
      ) c full join (
        select contact_id, array_agg(name = 'contact.subscribed' order by id) as history
        from events where project_id = ${projectId} and name in ${FLIPS} group by 1
      ) f on f.contact_id = c.contact_id
      where c.history is distinct from f.history
    `,
  })
