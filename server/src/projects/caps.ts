import { sql } from 'kysely'
import { type Db, many, one, orFail, scalars, type Tx } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { AppError } from '../lib/errors/errors.ts'
import { countsOfSql, METERED, PERIOD_START, USAGE_CATEGORIES, type UsageCategory } from './email-counts.ts'

const LIMIT_OF: Record<UsageCategory, ReturnType<typeof sql.ref>> = {
  workflows: sql.ref('p.billing_limit_workflows'),
  campaigns: sql.ref('p.billing_limit_campaigns'),
  transactional: sql.ref('p.billing_limit_transactional'),
  inbound: sql.ref('p.billing_limit_inbound'),
}

/** Emails of the current period of a project `p`: those added up, and those that are not yet. */
const countedSql = (category: UsageCategory) => sql`(
  coalesce(
    (select u.used from usage_periods u where u.project_id = p.id and u.category = ${sql.lit(category)} and u.period_start = ${PERIOD_START}),
    (select sum(c.count) from email_counts c where c.project_id = p.id and c.kind = ${sql.lit(category)} and c.hour >= ${PERIOD_START}), 0)
  + coalesce((
    select sum(d.n) from ${countsOfSql()} as d where d.project_id = p.id and d.kind = ${sql.lit(category)} and d.hour >= ${PERIOD_START}), 0))`

/**
 * Recipients that campaigns of a project `p` have reserved and not written yet. Those of a campaign that has ended do not count; a pause that
 * stops the writing returns them.
 */
const RESERVED = sql`coalesce((
  select sum(r.reserved) from campaigns r where r.project_id = p.id and r.status = 'SENDING' and r.frozen_at is null and r.reserved > 0), 0)`

/** The usage that a cap is compared with. */
const usedSql = (category: UsageCategory) =>
  category === 'campaigns' ? sql`(${countedSql(category)} + ${RESERVED})` : countedSql(category)

/** Emails of the sandbox are not limited, received ones always are. */
const isLimited = (category: UsageCategory) => (category === 'inbound' ? sql`true` : METERED)

/** Whether emails of a project `p` are limited. */
const hasCap = (category: UsageCategory) => sql<boolean>`(${LIMIT_OF[category]} is not null and coalesce(${isLimited(category)}, false))`

/** The same for the project with this id. */
export const hasCapSql = (projectId: string, category: UsageCategory) =>
  sql<boolean>`(select ${hasCap(category)} from projects p where p.id = ${projectId})`

/** Selects the projects that have a cap, with the key of its lock. */
const cappedSql = (projectIds: string[], category: UsageCategory) => sql`
  select p.id, hashtextextended(${`cap ${category} `} || p.id, 0) as key
  from projects p where p.id = any(${[...new Set(projectIds)]}::uuid[]) and ${hasCap(category)}`

/** Locked in the order of their keys: a batch has many projects. */
const LOCK = sql`lock_caps(array(select key from capped order by key))`

/**
 * Locks the caps of these projects until the end of the transaction: emails of a category are checked and counted by one transaction at a
 * time. Locks nothing for a project without a cap. Its own statement, before those that check, so that they see what the previous holder
 * has counted. Always after idempotency keys and before contacts, events and emails: no deadlocks.
 */
export const lockCapsSql = (projectIds: string[], category: UsageCategory) => sql`
  with capped as materialized (${cappedSql(projectIds, category)})
  select case when exists (select from capped) then ${LOCK} end`

/** The same. Returns the projects that have a cap. */
export async function lockCaps(tx: Tx, projectIds: string[], category: UsageCategory): Promise<string[]> {
  if (!projectIds.length) return []
  return scalars<string>(
    tx,
    prepared`
    with capped as materialized (${cappedSql(projectIds, category)})
    select id, (select ${LOCK}) as locks from capped
  `,
  )
}

/**
 * Fails if the transactional emails of a project exceed its cap: one statement of the batch that accepts them, after `lockCapsSql` and after they
 * were counted. A project without a cap costs a look-up of its row.
 */
export const requireRoomSql = (projectIds: string[]) => prepared`
  select ${orFail(sql`not exists (
    select from projects p where p.id = any(${[...new Set(projectIds)]}::uuid[]) and ${hasCap('transactional')}
      and ${usedSql('transactional')} > p.billing_limit_transactional)`)}`

type Cap = { projectId: string; limit: number; used: number }

/** The caps of these projects in a category; none for projects without one. */
export const readCaps = (db: Db, projectIds: string[], category: UsageCategory) =>
  many<Cap>(db)`
    select p.id as "projectId", ${LIMIT_OF[category]}::float8 as limit, ${usedSql(category)}::float8 as used
    from projects p where p.id = any(${[...new Set(projectIds)]}::uuid[]) and ${hasCap(category)}
  `

/** Emails that a project may still send or receive in this period. Infinite without a cap. */
export async function readRoom(db: Db, projectId: string, category: UsageCategory): Promise<number> {
  const [cap] = await readCaps(db, [projectId], category)
  return cap ? Math.max(0, cap.limit - cap.used) : Number.POSITIVE_INFINITY
}

const NAMES: Record<UsageCategory, string> = {
  workflows: 'emails of workflows',
  campaigns: 'emails of campaigns',
  transactional: 'transactional emails',
  inbound: 'received emails',
}

/** The refusal of emails beyond a cap. */
export const overCap = (category: UsageCategory, details: Partial<Omit<Cap, 'projectId'>> & { wanted?: number } = {}) =>
  new AppError('BILLING_LIMIT_EXCEEDED', {
    message: `The limit of ${NAMES[category]} in this period is reached.`,
    details: { category, ...details },
    suggestion: 'Raise the limit under Billing, or wait for the next period.',
  })

type CapRequest = { projectId: string; emails: number }

/**
 * Checks requests in order, each as a whole, in the transaction that accepts them. Returns why a request is refused, or undefined. Locks the
 * caps, so the next transaction checks when this one has counted.
 */
export async function checkCaps(tx: Tx, category: UsageCategory, requests: CapRequest[]): Promise<(AppError | undefined)[]> {
  const projectIds = requests.map(({ projectId }) => projectId)
  return checkLockedCaps(tx, category, requests, await lockCaps(tx, projectIds, category))
}

/** The same with the result of `lockCaps`. */
export async function checkLockedCaps(
  tx: Tx,
  category: UsageCategory,
  requests: CapRequest[],
  capped: string[],
): Promise<(AppError | undefined)[]> {
  const caps = new Map((capped.length ? await readCaps(tx, capped, category) : []).map((cap) => [cap.projectId, cap]))
  return requests.map(({ projectId, emails }) => {
    const cap = caps.get(projectId)
    const refusal = cap && refuseOver(category, cap, emails)
    if (cap && !refusal) cap.used += emails
    return refusal
  })
}

const refuseOver = (category: UsageCategory, { limit, used }: Cap, wanted: number) =>
  wanted > 0 && used + wanted > limit ? overCap(category, { limit, used, wanted }) : undefined

/** Fails if no email of the category would be accepted now. Locks nothing. */
export async function assertSomeRoom(db: Db, projectId: string, category: UsageCategory) {
  const [cap] = await readCaps(db, [projectId], category)
  const refusal = cap && refuseOver(category, cap, 1)
  if (refusal) throw refusal
}

export type UsageLimits = Record<UsageCategory, { limit: number | null; usage: number }>

/** The caps of a project and its usage in the current period, with the period. */
export async function readUsage(
  db: Db,
  projectId: string,
): Promise<{ usage: UsageLimits; start: Date; end: Date; currency: string | null }> {
  const columns = USAGE_CATEGORIES.flatMap((category) => [
    sql`${LIMIT_OF[category]}::float8 as ${sql.ref(`${category}Limit`)}`,
    sql`${countedSql(category)}::float8 as ${sql.ref(`${category}Used`)}`,
  ])
  const row = await one<Record<string, number | null> & { start: Date; end: Date; currency: string | null }>(db)`
    select ${sql.join(columns)}, ${PERIOD_START} as start, p.currency,
      case when p.period_end > now() then p.period_end
        when p.period_end is not null then p.period_end + (p.period_end - p.period_start)
        else date_trunc('month', now(), 'UTC') + interval '1 month' end as end
    from projects p where p.id = ${projectId}
  `
  const usage = Object.fromEntries(
    USAGE_CATEGORIES.map((category) => [category, { limit: row[`${category}Limit`] ?? null, usage: row[`${category}Used`]! }]),
  ) as UsageLimits
  return { usage, start: row.start, end: row.end, currency: row.currency }
}

/** Sets the given caps; null removes one. Owners are notified again when usage reaches the new ones. */
export async function changeCaps(tx: Tx, projectId: string, limits: Partial<Record<UsageCategory, number | null>>) {
  const given = USAGE_CATEGORIES.filter((category) => limits[category] !== undefined)
  if (!given.length) return
  const sets = given.map((category) => sql`${sql.ref(`billing_limit_${category}`)} = ${limits[category]}`)
  await sql`update projects set ${sql.join(sets)}, updated_at = now() where id = ${projectId}`.execute(tx)
  await sql`update usage_periods set warned = 0 where project_id = ${projectId} and category = any(${given}::text[])`.execute(tx)
}

export type UsageWarning = { projectId: string; category: UsageCategory; percent: 80 | 100; limit: number; used: number }

/** The caps whose usage reached 80 or 100 % with these changes; each is returned once per period. */
export const takeUsageWarnings = (tx: Tx, projectIds: string[]) =>
  many<UsageWarning>(tx)`
    with judged as (
      select u.project_id, u.category, u.used, limits.value as cap, case when u.used >= limits.value then 100 else 80 end as percent
      from usage_periods u join projects p on p.id = u.project_id and p.deleted_at is null
      cross join lateral (select case u.category ${sql.join(
        USAGE_CATEGORIES.map((category) => sql`when ${sql.lit(category)} then ${LIMIT_OF[category]}`),
        sql` `,
      )} end as value) as limits
      where u.project_id = any(${projectIds}::uuid[]) and u.used >= 0.8 * limits.value and u.period_start = ${PERIOD_START}
    )
    update usage_periods u set warned = j.percent from judged j
    where u.project_id = j.project_id and u.category = j.category and u.warned < j.percent
    returning u.project_id as "projectId", u.category, j.percent, j.cap::float8 as limit, u.used::float8 as used
  `
