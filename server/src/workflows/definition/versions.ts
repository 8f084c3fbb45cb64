import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, maybeOne, type Tx } from '../../db/index.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { MB } from '../../lib/text/units.ts'
import type { Graph } from './graph.ts'
import { showStep, showTransition, Transition, type WorkflowKey, WorkflowStep } from './workflow.ts'

/** Older versions kept per workflow, besides those that executions started with. */
const MAX_VERSIONS = 50
const MAX_BYTES = 20 * MB
/** Versions with executions are kept as long as these: a list ends at some point. */
const MAX_LISTED = 200

export const WorkflowVersion = z
  .object({
    version: z.int(),
    isCurrent: z.boolean(),
    steps: z.int().describe('Number of steps, with the TRIGGER step.'),
    savedBy: z.string().nullable().describe('Address of the person who saved it. Null for an API key.'),
    savedAt: Timestamp,
  })
  .meta({ id: 'WorkflowVersion' })

export const WorkflowVersionGraph = WorkflowVersion.omit({ steps: true }).extend({
  steps: z.array(WorkflowStep),
  transitions: z.array(Transition),
})

type Row = Omit<z.output<typeof WorkflowVersion>, 'savedAt'> & { savedAt: Date }

const VERSION_COLUMNS = sql`
  g.version, g.version = w.version as "isCurrent", g.created_at as "savedAt", (select email from users where users.id = g.saved_by) as "savedBy"`

/** Newest first. */
export const listWorkflowVersions = (db: Db, { projectId, id }: WorkflowKey) => many<Row>(db)`
  select ${VERSION_COLUMNS}, jsonb_array_length(g.graph -> 'steps') as steps
  from workflow_graphs g join workflows w on w.project_id = g.project_id and w.id = g.workflow_id
  where g.project_id = ${projectId} and g.workflow_id = ${id}
  order by g.version desc limit ${MAX_LISTED}
`

/** Undefined when there is no such version, or no longer. */
export async function findWorkflowVersion(db: Db, { projectId, id }: WorkflowKey, version: number) {
  const row = await maybeOne<Omit<Row, 'steps'> & { graph: Graph }>(db)`
    select ${VERSION_COLUMNS}, g.graph
    from workflow_graphs g join workflows w on w.project_id = g.project_id and w.id = g.workflow_id
    where g.project_id = ${projectId} and g.workflow_id = ${id} and g.version = ${version}
  `
  if (!row) return undefined
  const { graph, ...rest } = row
  return {
    ...rest,
    steps: graph.steps.map((step) => showStep(step, { workflowId: id, graph })),
    transitions: graph.transitions.map(showTransition),
  }
}

/** Keeps the newest versions, limited by number and size, and those that executions follow. */
export const trimVersions = (tx: Tx, { projectId, id }: WorkflowKey) =>
  sql`
    delete from workflow_graphs where project_id = ${projectId} and workflow_id = ${id} and not pinned and version <= (
      select version from (
        select version, row_number() over newest as number, sum(pg_column_size(graph)) over newest as bytes
        from workflow_graphs where project_id = ${projectId} and workflow_id = ${id}
        window newest as (order by version desc rows unbounded preceding)
      ) as kept
      where number > ${MAX_VERSIONS + 1} or (bytes > ${MAX_BYTES} and number > 2)
      order by version desc limit 1)
  `.execute(tx)
