import { sql } from 'kysely'
import { type Db, many, one, orFail, prepared, type Tx } from '../db/index.ts'
import { AppError } from '../lib/errors.ts'
import { hourSql, METERED, PERIOD_START, USAGE_CATEGORIES, type UsageCategory } from './email-counts.ts'

const LIMIT_OF: Record<UsageCategory, ReturnType<typeof sql.ref>> = {
  workflows: sql.ref('p.billing_limit_workflows'),
  campaigns: sql.ref('p.billing_limit_campaigns'),
  transactional: sql.ref('p.billing_limit_transactional'),
  inbound: sql.ref('p.billing_limit_inbound'),
}

/** Emails of the current period of a project `p`: merged ones, and those that are not merged yet. */
const usedSql = (category: UsageCategory) => sql`(
  coalesce(
    (select u.used from usage_periods u where u.project_id = p.id and u.category = ${sql.lit(category)} and u.period_start = ${PERIOD_START}),
    (select sum(c.count) from email_counts c where c.project_id = p.id and c.kind = ${sql.lit(category)} and c.hour >= ${PERIOD_START}), 0)
  + coalesce((
    select sum(d.n) from email_count_deltas d where d.project_id = p.id and d.kind = ${sql.lit(category)} and d.hour >= ${PERIOD_START}), 0))`

/** Emails of the sandbox are not limited, received ones always are. */
const isLimited = (category: UsageCategory) => (category === 'inbound' ? sql`true` : METERED)

/**
 * Counts transactional emails of several projects and fails as a whole if a cap would be exceeded: one statement of the batch that accepts
 * them. A project without a cap costs a look-up of its row.
 */
export const countTransactionalSql = (wanted: { projectId: string; emails: number }[]) => sql`${prepared}
  with wanted as materialized (
    select * from unnest(${wanted.map(({ projectId }) => projectId)}::uuid[], ${wanted.map(({ emails }) => emails)}::int[]) as w(project_id, n)
  ), counted as (
    insert into email_count_deltas (project_id, kind, hour, n)
    select project_id, 'transactional', ${hourSql(sql`now()`)}, n from wanted where ${METERED}
  )
  select ${orFail(sql`not exists (
    select from wanted w join projects p on p.id = w.project_id
    where p.billing_limit_transactional is not null and ${METERED} and ${usedSql('transactional')} + w.n > p.billing_limit_transactional)`)}`

type Cap = { projectId: string; limit: number; used: number }

/** The caps of these projects in a category; none for projects without one. */
export const readCaps = (db: Db, projectIds: string[], category: UsageCategory) =>
  many(
    db,
    sql<Cap>`
      select p.id as "projectId", ${LIMIT_OF[category]}::float8 as limit, ${usedSql(category)}::float8 as used
      from projects p where p.id = any(${[...new Set(projectIds)]}::uuid[]) and ${LIMIT_OF[category]} is not null and ${isLimited(category)}
    `,
  )

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

/**
 * Checks requests in order, each as a whole, in the transaction that accepts them. Returns why a request is refused, or undefined. Requests
 * that are accepted at the same moment do not see each other: a cap may be exceeded by these.
 */
export async function checkCaps(
  db: Db,
  category: UsageCategory,
  requests: { projectId: string; emails: number }[],
): Promise<(AppError | undefined)[]> {
  const caps = new Map(
    requests.length
      ? (
          await readCaps(
            db,
            requests.map(({ projectId }) => projectId),
            category,
          )
        ).map((cap) => [cap.projectId, cap])
      : [],
  )
  return requests.map(({ projectId, emails }) => {
    const cap = caps.get(projectId)
    if (!cap || emails === 0) return undefined
    const { limit, used } = cap
    if (used + emails > limit) return overCap(category, { limit, used, wanted: emails })
    cap.used += emails
    return undefined
  })
}

export type UsageLimits = Record<UsageCategory, { limit: number | null; usage: number }>

/** The caps of a project and its usage in the current period, with the period. */
export async function readUsage(
  db: Db,
  projectId: string,
): Promise<{ usage: UsageLimits; start: Date; end: Date; currency: string | null }> {
  const columns = USAGE_CATEGORIES.flatMap((category) => [
    sql`${LIMIT_OF[category]}::float8 as ${sql.ref(`${category}Limit`)}`,
    sql`${usedSql(category)}::float8 as ${sql.ref(`${category}Used`)}`,
  ])
  const row = await one(
    db,
    sql<Record<string, number | null> & { start: Date; end: Date; currency: string | null }>`
      select ${sql.join(columns)}, ${PERIOD_START} as start, p.currency,
        case when p.period_end > now() then p.period_end
          when p.period_end is not null then p.period_end + (p.period_end - p.period_start)
          else date_trunc('month', now(), 'UTC') + interval '1 month' end as end
      from projects p where p.id = ${projectId}
    `,
  )
  const usage = Object.fromEntries(
    USAGE_CATEGORIES.map((category) => [category, { limit: row[`${category}Limit`] ?? null, usage: row[`${category}Used`]! }]),
  ) as UsageLimits
  return { usage, start: row.start, end: row.end, currency: row.currency }
}

/** Sets the given caps; null removes one. Owners are told again when usage reaches the new ones. */
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
  many(
    tx,
    sql<UsageWarning>`
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
    `,
  )
