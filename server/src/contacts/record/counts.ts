import { type RawBuilder, sql } from 'kysely'
import { type Db, one, type Tx } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import type { WipeScope } from '../../db/wipe-rows.ts'
import { defineLedger } from '../../ledger/ledger.ts'

/** The source of contacts that were created before their origin was stored. */
const UNKNOWN_SOURCE = 'unknown'

/** The UTC day of the transaction, as `created_at` of the rows it writes. */
export const TODAY = sql`(now() at time zone 'utc')::date`
/** The UTC day of a row. */
const DAY_OF = sql`(created_at at time zone 'utc')::date`

/** Counts by day and source, from contacts and their consents. A contact started with the opposite of its first change, or as it is. */
const daysOf = (projectId: string, contacts: RawBuilder<unknown>, ofThese: RawBuilder<unknown>) => sql`
  select ${DAY_OF} as day, coalesce(created_by, ${UNKNOWN_SOURCE}) as source, count(*) as created,
    count(*) filter (where coalesce(not first.subscribed, c.subscribed)) as created_subscribed, 0 as opted_in, 0 as opted_out
  from ${contacts} as c left join (
    select distinct on (contact_id) contact_id, subscribed from consents where project_id = ${projectId} ${ofThese} order by contact_id, id
  ) as first on first.contact_id = c.id
  group by 1, 2
  union all
  select ${DAY_OF}, source, 0, 0, count(*) filter (where subscribed), count(*) filter (where not subscribed)
  from consents where project_id = ${projectId} ${ofThese} group by 1, 2`

const DAY_VALUES = ['created', 'created_subscribed', 'opted_in', 'opted_out'] as const
/** Sums of contacts that were deleted since. */
const GONE_VALUES = DAY_VALUES.map((value) => `gone_${value}` as const)
const ofDelta = (...columns: string[]) => Object.fromEntries(columns.map((column) => [column, sql.ref(`d.${column}`)]))

/** Contacts by subscription, and what happened to them by day and source. */
export const contactLedger = defineLedger({
  name: 'contacts',
  deltas: 'contact_count_deltas',
  sums: {
    contact_counts: {
      key: {},
      values: ofDelta('total', 'subscribed'),
      actual: ({ projectId }) =>
        sql`select count(*) as total, count(*) filter (where subscribed) as subscribed from contacts where project_id = ${projectId}`,
    },
    contact_days: {
      key: { day: sql`d.day`, source: sql`coalesce(d.source, ${UNKNOWN_SOURCE})` },
      values: ofDelta(...DAY_VALUES),
      notes: ofDelta('deleted', ...GONE_VALUES),
      where: sql`d.day is not null`,
      actual: ({ projectId }) => sql`
        ${daysOf(projectId, sql`(select * from contacts where project_id = ${projectId})`, sql``)}
        union all
        select day, source, gone_created, gone_created_subscribed, gone_opted_in, gone_opted_out from contact_days
        where project_id = ${projectId}
        union all
        select day, coalesce(source, ${UNKNOWN_SOURCE}), gone_created, gone_created_subscribed, gone_opted_in, gone_opted_out
        from contact_count_deltas where project_id = ${projectId} and day is not null`,
    },
  },
})

type Counts = { total: number; subscribed: number }

export const countContacts = (db: Db, projectId: string) =>
  one<Counts>(db)`
    select coalesce(sum(total), 0)::int as total, coalesce(sum(subscribed), 0)::int as subscribed
    from ${contactLedger.readSql('contact_counts', projectId)}
  `

/** Contacts that are being removed, as a statement returned them. */
export type RemovedContact = { id: string; subscribed: boolean; createdAt: Date; createdBy: string | null }

type Removal = {
  projectId: string
  contacts: RemovedContact[]
  /** Nothing of them stays counted. Otherwise the days keep what happened, with a note, since it cannot be counted again. */
  isReset?: boolean
}

/** Counts contacts that are being removed. Call it before their consents are. */
export async function countRemoved(tx: Tx, { projectId, contacts, isReset = false }: Removal) {
  const sign = sql.lit(isReset ? -1 : 1)
  const values = DAY_VALUES.map((value) => sql`${sign} * ${sql.ref(value)}`)
  const ofDays = contactLedger.appendSql(
    ['project_id', 'day', 'source', ...(isReset ? DAY_VALUES : GONE_VALUES)],
    sql`select ${projectId}, day, source, ${sql.join(values)}
      from (${daysOf(projectId, sql`given`, sql`and contact_id in (select id from given)`)}) as days`,
  )
  const ofToday = contactLedger.appendSql(
    ['project_id', 'day', 'source', 'deleted', 'total', 'subscribed'],
    sql`select ${projectId}, ${TODAY}, created_by, ${isReset ? sql`0` : sql`count(*)`}, -count(*), -count(*) filter (where subscribed)
      from given group by created_by`,
  )
  await sql`
    with given as materialized (
      select id, subscribed, "createdAt" as created_at, "createdBy" as created_by
      from ${recordset('contacts', contacts, ['id', 'subscribed', 'createdAt', 'createdBy'])} as c
    ), of_days as (${ofDays}) ${ofToday}
  `.execute(tx)
}

/** For a project reset or deletion. A reset also takes back what is noted about contacts that were deleted before. */
export async function wipeContactCounts(tx: Tx, scope: WipeScope) {
  const noted = ['deleted', ...GONE_VALUES] as const
  const isNoted = noted.map((note) => sql`sum(${sql.ref(note)}) <> 0`)
  const taken = [...GONE_VALUES, ...noted].map((note) => sql`-sum(${sql.ref(note)})`)
  const notes = contactLedger.appendSql(
    ['project_id', 'day', 'source', ...DAY_VALUES, ...noted],
    sql`select ${scope.projectId}, day, source, ${sql.join(taken)}
      from ${contactLedger.readSql('contact_days', scope.projectId)}
      group by day, source having ${sql.join(isNoted, sql` or `)}`,
  )
  await notes.execute(tx)
  return contactLedger.wipe(tx, scope)
}
