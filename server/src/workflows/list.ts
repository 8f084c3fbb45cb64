import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, one } from '../db/index.ts'
import { choiceParam, PageQuery } from '../http/paging.ts'
import { showWorkflowRow, WORKFLOW_COLUMNS, WORKFLOW_FIELDS, type WorkflowRow } from './workflow.ts'

export const WorkflowItem = z
  .object({ ...WORKFLOW_FIELDS, _count: z.object({ steps: z.int(), executions: z.int() }) })
  .meta({ id: 'WorkflowItem' })

export const WorkflowsQuery = PageQuery.extend({
  search: z.string().max(255).optional().describe('Case-insensitive search in name and description.'),
  status: z.enum(['active', 'disabled']).optional(),
  sort: choiceParam(['name', 'createdAt', 'updatedAt'], 'createdAt'),
  dir: choiceParam(['asc', 'desc'], 'desc'),
})

/** Ids ascend with time, so the primary key is the order of creation. */
const ORDERS = { name: sql`lower(w.name)`, createdAt: sql`w.id`, updatedAt: sql`w.updated_at` }

type ItemRow = WorkflowRow & { steps: number; executions: number }

export async function listWorkflows(db: Db, projectId: string, query: z.output<typeof WorkflowsQuery>) {
  const { page, pageSize, search, status, sort = 'createdAt', dir = 'desc' } = query
  const pattern = search && `%${search.trim().replace(/[\\%_]/g, '\\$&')}%`
  const where = sql`w.project_id = ${projectId}
    ${status ? sql`and w.enabled = ${status === 'active'}` : sql``}
    ${pattern ? sql`and (w.name ilike ${pattern} or w.description ilike ${pattern})` : sql``}`
  const rows = await many(
    db,
    sql<ItemRow>`
      select ${WORKFLOW_COLUMNS},
        (select jsonb_array_length(g.graph -> 'steps') from workflow_graphs g
          where g.project_id = w.project_id and g.workflow_id = w.id and g.version = w.version) as steps,
        (select coalesce(sum(n), 0)::int from (
          select n from workflow_figures f where f.project_id = w.project_id and f.workflow_id = w.id and f.subject_id = w.id and f.kind = 'started'
          union all
          select n from workflow_tallies t where t.project_id = w.project_id and t.workflow_id = w.id and t.subject_id = w.id and t.kind = 'started'
        ) as started) as executions
      from workflows w where ${where}
      order by ${ORDERS[sort]} ${sql.raw(dir)}, w.id ${sql.raw(dir)}
      limit ${pageSize} offset ${(page - 1) * pageSize}
    `,
  )
  const { total } = await one(db, sql<{ total: number }>`select count(*)::int as total from workflows w where ${where}`)
  return {
    data: rows.map(({ steps, executions, ...row }) => ({ ...showWorkflowRow(row), _count: { steps, executions } })),
    total,
    page,
    pageSize,
    totalPages: Math.ceil(total / pageSize),
  }
}
