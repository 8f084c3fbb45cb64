import { sql } from 'kysely'
import { maybeScalar, one, type Tx } from '../../db/index.ts'
import type { CallingProject } from '../../http/auth/key-lookup.ts'
import { changeAs } from '../../http/auth/what-sends.ts'
import { nextRevision, refuseStale } from '../../http/core/if-match.ts'
import { type FieldIssue, fail, invalid } from '../../lib/errors/errors.ts'
import { MB } from '../../lib/text/units.ts'
import { lockSegments } from '../../segments/definition/limits.ts'
import { type Graph, type Violation, violationsOf } from './graph.ts'
import { listenForWorkflow } from './listeners.ts'
import { checkGraphReferences, usesOfGraph } from './uses.ts'
import { trimVersions } from './versions.ts'
import { lockWorkflow, readGraph, WORKFLOW_COLUMNS, type WorkflowKey, type WorkflowRow } from './workflow.ts'

/** All steps and transitions as JSON: as much as one request can bring. */
const MAX_GRAPH_BYTES = MB

/** Names the place in the request of what is wrong. */
export type Places = { violation: (violation: Violation) => string; step: (index: number) => string }
/** Requests about a single step or transition name its fields directly. */
const BARE_PLACES: Places = { violation: ({ field }) => field, step: () => '' }

type Edit = WorkflowKey & {
  revisions?: string[] | undefined
  /** The version that the caller has read. */
  version?: number
  places?: Places
  /** A key may not make a workflow send what the key itself may not. */
  caller: CallingProject
  /** The person who makes the change. Undefined: an API key. */
  savedBy?: string | undefined
  change: (graph: Graph) => Graph
}

/** Changes the graph as a whole: the change is a new version, or nothing. */
export async function editGraph(tx: Tx, edit: Edit): Promise<{ row: WorkflowRow; graph: Graph }> {
  const { places = BARE_PLACES } = edit
  await lockSegments(tx, edit.projectId)
  const stored = await lockWorkflow(tx, edit)
  refuseStale(stored, edit.revisions)
  if (edit.version !== undefined && edit.version !== stored.version)
    fail('CONFLICT', { message: 'It was changed since you read it.', details: { version: stored.version, updatedAt: stored.updatedAt } })
  const before = await readGraph(tx, stored)
  const graph = edit.change(before)
  refuseViolations(graph, places)
  const changed = graph.steps.filter((step) => !before.steps.includes(step))
  await checkGraphReferences(tx, edit.projectId, changed, (step) => places.step(graph.steps.indexOf(step)))
  await refuseForeignIds(tx, stored, { before, graph })
  const row = await changeAs(tx, edit.caller, { workflow: stored.id }, () => storeVersion(tx, stored, graph, edit.savedBy))
  return { row, graph }
}

function refuseViolations(graph: Graph, { violation: placeOf }: Places) {
  const errors = violationsOf(graph).map(
    (violation): FieldIssue => ({
      field: placeOf(violation),
      message: violation.message,
      code: violation.index === undefined && violation.message.startsWith('At most') ? 'too_big' : 'custom',
    }),
  )
  if (errors.length) fail('VALIDATION_ERROR', { errors: errors.slice(0, 50) })
  if (Buffer.byteLength(JSON.stringify(graph)) > MAX_GRAPH_BYTES) invalid('steps', 'All steps together have at most 1 MB.', 'too_big')
}

/** The figures of a workflow are kept by the ids of its steps and transitions. Older versions that no execution followed have none. */
async function refuseForeignIds(tx: Tx, { projectId, id }: WorkflowKey, { before, graph }: { before: Graph; graph: Graph }) {
  const own = new Set([...before.steps, ...before.transitions].map((each) => each.id))
  const added = [...graph.steps, ...graph.transitions].map((each) => each.id).filter((each) => !own.has(each))
  if (!added.length) return
  const taken = await maybeScalar<string>(tx)`
    select own.id from workflow_graphs g cross join lateral jsonb_array_elements_text(g.uses -> 'ids') as own(id)
    where g.project_id = ${projectId} and g.workflow_id <> ${id}
      and (g.pinned or exists (select from workflows w where w.project_id = g.project_id and w.id = g.workflow_id and w.version = g.version))
      and g.uses -> 'ids' ?| ${added}::text[] and own.id = any(${added}::text[])
    limit 1
  `
  if (!taken) return
  const isStep = graph.steps.some((step) => step.id === taken)
  const index = (isStep ? graph.steps : graph.transitions).findIndex((each) => each.id === taken)
  invalid(`${isStep ? 'steps' : 'transitions'}.${index}.id`, 'Another workflow has this id.')
}

async function storeVersion(tx: Tx, workflow: WorkflowRow, graph: Graph, savedBy: string | undefined): Promise<WorkflowRow> {
  const { projectId, id, version } = workflow
  await insertGraph(tx, { projectId, id, version: version + 1, graph, savedBy })
  await trimVersions(tx, workflow)
  const row = await one<WorkflowRow>(tx)`
    update workflows w set version = version + 1, updated_at = ${nextRevision(sql.ref('w.updated_at'))}
    where project_id = ${projectId} and id = ${id}
    returning ${WORKFLOW_COLUMNS}
  `
  await listenForWorkflow(tx, row)
  return row
}

type NewGraph = WorkflowKey & { version: number; graph: Graph; savedBy: string | undefined }

export const insertGraph = (tx: Tx, { projectId, id, version, graph, savedBy }: NewGraph) =>
  sql`
    insert into workflow_graphs (project_id, workflow_id, version, graph, uses, saved_by)
    values (${projectId}, ${id}, ${version}, ${JSON.stringify(graph)}::jsonb, ${JSON.stringify(usesOfGraph(graph))}::jsonb, ${savedBy ?? null})
  `.execute(tx)
