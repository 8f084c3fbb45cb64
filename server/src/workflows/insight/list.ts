import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, scalar } from '../../db/index.ts'
import { choiceParam, PageQuery, pageInfo } from '../../http/core/paging.ts'
import { likePattern } from '../../lib/text/like-pattern.ts'
import { TRIGGER_TYPES } from '../definition/trigger.ts'
import { WORKFLOW_COLUMNS, WORKFLOW_FIELDS, type WorkflowRow } from '../definition/workflow.ts'
import { firstRecentDay } from '../executions/days.ts'
import { executionCountsJoin, HAS_FAILED } from '../executions/figures.ts'

const Counts = z.object({
  steps: z.int(),
  executions: z.int().describe('Without those that were deleted by age, as the other counts.'),
  active: z.int().describe('RUNNING or WAITING.'),
  finished: z.int().describe('COMPLETED or EXITED.'),
  failed: z.int(),
  cancelled: z.int(),
  entered30Days: z.int().describe('Started since `enteredSince`.'),
})

export const WorkflowItem = z
  .object({
    ...WORKFLOW_FIELDS,
    enteredSince: z.string().describe('The first of the last 30 days, today included, in UTC: `startedFrom` of the executions counted.'),
    _count: Counts,
  })
  .meta({ id: 'WorkflowItem' })

export const WorkflowsQuery = PageQuery.extend({
  search: z.string().max(255).optional().describe('Case-insensitive search in name and description.'),
  status: z.enum(['active', 'disabled']).optional(),
  triggerType: z.enum(TRIGGER_TYPES).optional(),
  failed: z.enum(['true', 'false']).optional().describe('Only workflows with failed executions, or only those without.'),
  sort: choiceParam(['name', 'createdAt', 'updatedAt'], 'createdAt'),
  dir: choiceParam(['asc', 'desc'], 'desc'),
})

/** Ids ascend with time, so the primary key is the order of creation. */
const ORDERS = { name: sql`lower(w.name)`, createdAt: sql`w.id`, updatedAt: sql`w.updated_at` }

type ItemRow = WorkflowRow & { counts: z.output<typeof Counts> }

export async function listWorkflows(db: Db, projectId: string, query: z.output<typeof WorkflowsQuery>) {
  const { page, pageSize, search, status, triggerType, failed, sort, dir } = query
  const pattern = search && likePattern(search.trim())
  const where = sql`w.project_id = ${projectId}
    ${status ? sql`and w.enabled = ${status === 'active'}` : sql``}
    ${triggerType ? sql`and w.trigger_type = ${triggerType}` : sql``}
    ${failed ? sql`and ${HAS_FAILED} = ${failed === 'true'}` : sql``}
    ${pattern ? sql`and (w.name ilike ${pattern} or w.description ilike ${pattern})` : sql``}`
  const enteredSince = firstRecentDay()
  const rows = await many<ItemRow>(db)`
    select ${WORKFLOW_COLUMNS}, to_jsonb(counts) || jsonb_build_object('steps', (
      select jsonb_array_length(g.graph -> 'steps') from workflow_graphs g
      where g.project_id = w.project_id and g.workflow_id = w.id and g.version = w.version)) as counts
    from (
      select * from workflows w where ${where}
      order by ${ORDERS[sort]} ${sql.raw(dir)}, w.id ${sql.raw(dir)} limit ${pageSize} offset ${(page - 1) * pageSize}
    ) as w ${executionCountsJoin(enteredSince)}
    order by ${ORDERS[sort]} ${sql.raw(dir)}, w.id ${sql.raw(dir)}
  `
  const total = await scalar<number>(db)`select count(*)::int from workflows w where ${where}`
  return { data: rows.map(({ counts, ...row }) => ({ ...row, enteredSince, _count: counts })), ...pageInfo(total, query) }
}
