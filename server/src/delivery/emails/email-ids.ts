import { type RawBuilder, sql } from 'kysely'
import { type Db, maybeOne } from '../../db/index.ts'
import { isId, lowestId } from '../../lib/id.ts'
import { HOUR } from '../../lib/text/units.ts'
import { FACT_TIMES } from '../outbox/outcomes/email-ledger.ts'
import { PRIORITIES, workflowStream } from '../outbox/streams/stream-of.ts'
import { type EmailFact, type EmailFilter, type EmailStatus, emailMatchesSql, readsContent } from './filter.ts'

/** The newest emails `e` of a page: `before` is the id that the page comes after. */
type Page = { before?: string | undefined; limit: number }

/** Selects ids of emails, newest first. Each branch has an index that answers it in this order. */
type Branch = (page: Page) => RawBuilder<{ id: string }>

export type EmailSelection = {
  /** Condition on the email `e` and, with `readsContent`, its content `c`. */
  matches: RawBuilder<unknown>
  readsContent: boolean
  branches: Branch[]
}

/**
 * How to find the emails of a filter in a project that has millions. A single condition for several rare statuses would be answered by reading
 * all emails that have one of them, and sorting them: so each is a query of its own, and the newest of all of them are the page.
 */
export async function selectEmails(db: Db, projectId: string, filter: EmailFilter): Promise<EmailSelection> {
  const matches = await emailMatchesSql(db, projectId, filter)
  const span = filter.campaignId !== undefined && isId(filter.campaignId) ? await readSpan(db, projectId, filter.campaignId) : undefined
  const found = { matches: span ? sql`${matches} and ${span}` : matches, readsContent: readsContent(filter) }
  const sources = { projectId, streamId: filter.campaignId, batch: filter.batch }
  const branches = indexesOf(filter).map((index) => index(found, sources))
  return { matches, readsContent: found.readsContent, branches: span ? [...branches, tests({ ...found, matches }, sources)] : branches }
}

/** The ids of a page. */
export const selectEmailIds = ({ branches }: EmailSelection, page: Page) =>
  branches.length === 1
    ? branches[0]!(page)
    : sql<{ id: string }>`
        select id from (${sql.join(
          branches.map((branch) => sql`(${branch(page)})`),
          sql` union `,
        )}) as found order by id desc limit ${page.limit}`

type Conditions = Pick<EmailSelection, 'matches' | 'readsContent'>
type Sources = { projectId: string; streamId: string | undefined; batch: string | undefined }
type Index = (conditions: Conditions, sources: Sources) => Branch

const fromSql = ({ readsContent: withContent }: Conditions, emails = sql`emails e`) =>
  withContent ? sql`from ${emails} join contents c on c.project_id = e.project_id and c.id = e.content_id` : sql`from ${emails}`

const isBefore = ({ before }: Page) => (before === undefined ? sql`true` : sql`e.id < ${before}`)

/** By the condition of a partial index on (project_id, id), or by the primary key. */
const where =
  (condition: RawBuilder<unknown>): Index =>
  (conditions) =>
  (page) =>
    sql`
    select e.id ${fromSql(conditions)} where ${conditions.matches} and ${condition} and ${isBefore(page)}
    order by e.id desc limit ${page.limit}`

const byPrimaryKey = where(sql`true`)
const failed = where(sql`e.state = 'failed'`)
const waiting = where(sql`e.state in ('deferred', 'unknown')`)

/** Among few emails, all of which are read. */
const among =
  (selectFew: (sources: Sources) => RawBuilder<unknown>): Index =>
  (conditions, sources) =>
  (page) =>
    sql`
  with few as materialized (${selectFew(sources)})
  select e.id ${fromSql(conditions, sql`few join emails e on e.project_id = few.project_id and e.id = few.id`)}
  where ${conditions.matches} and ${isBefore(page)}
  order by e.id desc limit ${page.limit}`

/** Emails that workers have in hand. */
const held = among(() => sql`select project_id, id from emails where state = 'sending'`)

/** A message has at most a thousand recipients, and some of its emails were sent again. */
const MAX_BATCH = 10_000
const ofBatch = among(
  ({ projectId, batch }) =>
    sql`select project_id, id from emails where project_id = ${projectId} and content_id = ${batch} limit ${MAX_BATCH}`,
)

/**
 * The newest of each stream, of which a project has few. Ordered by all columns of the index, with a range instead of an equality: the planner
 * has stale statistics of the queue, and would scan the primary key past every email ever sent.
 */
const queued: Index =
  (conditions, { projectId, streamId }) =>
  (page) =>
    sql`
  select queued.id from (${streamsSql(projectId, streamId)}) as s cross join lateral (
    select e.id ${fromSql(conditions)}
    where e.state = 'queued' and e.lane = s.lane and (e.project_id, e.stream_id) >= (${projectId}::uuid, s.stream_id)
      and (e.project_id, e.stream_id) <= (${projectId}::uuid, s.stream_id) and ${conditions.matches} and ${isBefore(page)}
    order by e.lane desc, e.project_id desc, e.stream_id desc, e.id desc limit ${page.limit}
  ) as queued
  order by queued.id desc limit ${page.limit}`

/** Campaigns that are being sent have a row, workflows during a reset; the other streams are always there. Test emails of a campaign are not in its stream. */
const streamsSql = (projectId: string, campaignId: string | undefined) =>
  campaignId !== undefined && isId(campaignId)
    ? sql`select ${PRIORITIES.bulk}::smallint as lane, ${campaignId}::uuid as stream_id`
    : sql`
        select ${PRIORITIES.transactional}::smallint as lane, ${projectId}::uuid as stream_id
        union select ${PRIORITIES.bulk}::smallint, ${workflowStream(projectId)}::uuid
        union select lane, id from streams where project_id = ${projectId}`

/** Without an index for SENT and DELIVERED: those are what most emails are. */
const INDEXES: Partial<Record<EmailStatus, Index[]>> = {
  PENDING: [queued, waiting],
  SENDING: [held, waiting],
  FAILED: [failed],
  BOUNCED: [where(sql`e.bounced_at is not null`), failed],
  COMPLAINED: [where(sql`e.complained_at is not null`)],
  CLICKED: [where(sql`e.clicked_at is not null`)],
  OPENED: [where(sql`e.opened_at is not null`)],
  SKIPPED: [where(sql`e.state in ('skipped', 'cancelled')`)],
}

const byFact = (fact: EmailFact) => (fact === 'sent' || fact === 'delivered' ? byPrimaryKey : where(sql`${FACT_TIMES[fact]} is not null`))

function indexesOf({ status, fact, scheduled, batch }: EmailFilter): Index[] {
  if (batch !== undefined && isId(batch)) return [ofBatch]
  if (scheduled) return [waiting]
  const indexes = status?.map((each) => INDEXES[each])
  if (indexes?.every((each) => each !== undefined)) return [...new Set(indexes.flat())]
  return [fact ? byFact(fact) : byPrimaryKey]
}

/** Margin around the times of a campaign: the clock of the database may be changed. */
const MARGIN_MS = HOUR

/**
 * A campaign writes its emails between its start and the end of the freeze, with ids of the database's clock: a range of the primary key that
 * holds little else. Undefined if the campaign was deleted; its emails are then found by their index and sorted.
 */
async function readSpan(db: Db, projectId: string, campaignId: string): Promise<RawBuilder<unknown> | undefined> {
  const campaign = await maybeOne<{ startedAt: Date | null; frozenAt: Date | null }>(db)`
    select started_at as "startedAt", frozen_at as "frozenAt" from campaigns where project_id = ${projectId} and id = ${campaignId}
  `
  if (!campaign) return undefined
  const { startedAt, frozenAt } = campaign
  if (!startedAt) return sql`false`
  const [from, to] = [lowestId(new Date(startedAt.getTime() - MARGIN_MS)), frozenAt && lowestId(new Date(frozenAt.getTime() + MARGIN_MS))]
  return to ? sql`e.id >= ${from} and e.id < ${to} and not e.test` : sql`e.id >= ${from} and not e.test`
}

/** Test emails of a campaign, sent at any time. They have no contact, which finds them in the index of the campaign. */
const tests = where(sql`e.contact_id is null and e.test`)
