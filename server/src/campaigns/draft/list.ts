import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { FilterTime, readMoment } from '../../contacts/selection/filter.ts'
import { type Db, many, scalar } from '../../db/index.ts'
import { choiceParam, PageQuery, pageInfo } from '../../http/core/paging.ts'
import { pagePortions } from '../../http/limits/page-stream.ts'
import { fail } from '../../lib/errors/errors.ts'
import { likePattern } from '../../lib/text/like-pattern.ts'
import { CAMPAIGN_STATUSES, type CampaignRow, type CampaignStatus, LISTED_COLUMNS } from './campaign.ts'

export const CampaignsQuery = PageQuery.extend({
  status: z
    .string()
    .max(100)
    .optional()
    .meta({ description: `${CAMPAIGN_STATUSES.map((status) => `\`${status}\``).join(', ')}. Any other value is refused with 400.` }),
  segmentId: z.string().max(100).optional(),
  search: z.string().max(255).optional().describe('Case-insensitive search in name, subject and sender address.'),
  dateFrom: FilterTime.optional().describe(
    'By the date that matters: when the campaign was sent, is being sent since, or is scheduled for; of a draft or a cancelled one its last change.',
  ),
  dateTo: FilterTime.optional().describe('As `dateFrom`. A date means the whole day in UTC.'),
  sort: choiceParam(['name', 'date', 'createdAt', 'updatedAt'], 'createdAt'),
  dir: choiceParam(['asc', 'desc'], 'desc'),
})
type Query = z.output<typeof CampaignsQuery>

/** The date that matters, by status. */
const DATE = sql`case c.status when 'SCHEDULED' then c.scheduled_for when 'SENDING' then c.started_at
  when 'SENT' then coalesce(c.sent_at, c.started_at) else c.updated_at end`

/** Ids ascend with time, so the primary key is the order of creation. */
const ORDERS = { name: sql`lower(c.name)`, date: DATE, createdAt: sql`c.id`, updatedAt: sql`c.updated_at` }

/** Returns the ids of a page in portions that fit into memory, and a function to read them: a campaign may have 2 MB. */
export async function listCampaigns(db: Db, projectId: string, query: Query) {
  const { page, pageSize, sort, dir } = query
  const where = matching(projectId, query)
  const direction = sql.raw(dir)
  const sizes = await many<{ id: string; bytes: number }>(db)`
    select c.id, octet_length(c.body) + ${ROW_BYTES} as bytes from campaigns c where ${where}
    order by ${ORDERS[sort]} ${direction}, c.id ${direction}
    limit ${pageSize} offset ${(page - 1) * pageSize}
  `
  const total = await scalar<number>(db)`select count(*)::int from campaigns c where ${where}`
  return {
    portions: pagePortions(sizes),
    read: (ids: string[]) => readCampaigns(db, projectId, ids),
    rest: pageInfo(total, query),
  }
}
/** Approximate bytes of a campaign without its body. */
const ROW_BYTES = 2_000

async function readCampaigns(db: Db, projectId: string, ids: string[]) {
  const rows = await many<Omit<CampaignRow, 'design'>>(db)`
    select ${LISTED_COLUMNS} from campaigns c where c.project_id = ${projectId} and c.id = any(${ids}::uuid[])
  `
  const byId = new Map(rows.map((row) => [row.id, row]))
  // Campaigns deleted meanwhile are left out.
  return ids.flatMap((id) => byId.get(id) ?? [])
}

function matching(projectId: string, { status, segmentId, search, dateFrom, dateTo }: Query): RawBuilder<unknown> {
  const byStatus = status ? sql`and c.status = ${readStatus(status)}` : sql``
  const bySegment = segmentId ? sql`and c.segment_id::text = ${segmentId.toLowerCase()}` : sql``
  const pattern = search?.trim() && likePattern(search.trim())
  const bySearch = pattern ? sql`and (c.name ilike ${pattern} or c.subject ilike ${pattern} or c.from_address ilike ${pattern})` : sql``
  const [from, to] = [readMoment(dateFrom), readMoment(dateTo)]
  const byDate = sql`${from ? sql`and ${DATE} >= ${new Date(from.start)}` : sql``} ${to ? sql`and ${DATE} < ${new Date(to.end)}` : sql``}`
  return sql`c.project_id = ${projectId} and c.deleted_at is null ${byStatus} ${bySegment} ${bySearch} ${byDate}`
}

const readStatus = (given: string): CampaignStatus =>
  CAMPAIGN_STATUSES.find((status) => status === given) ??
  fail('BAD_REQUEST', { message: `The status must be one of: ${CAMPAIGN_STATUSES.join(', ')}.` })
