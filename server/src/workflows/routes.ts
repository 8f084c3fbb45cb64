import { z } from 'zod'
import { type Db, transact } from '../db/index.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import { readIfMatch } from '../http/core/if-match.ts'
import { pageList } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { NO_CONTENT, routesOf } from '../http/resource.ts'
import { invalid } from '../lib/errors/errors.ts'
import { listWorkflowFields, WorkflowFields } from './definition/fields.ts'
import type { Graph } from './definition/graph.ts'
import { maskedFor } from './definition/masked-steps.ts'
import { findProblems } from './definition/problems.ts'
import { changeWorkflow, createWorkflow, deleteWorkflow, duplicateWorkflow, MAX_WORKFLOW_NAME } from './definition/save.ts'
import { readTrigger, TRIGGER_TYPES } from './definition/trigger.ts'
import { readGraph, showWorkflow, Workflow, type WorkflowRow } from './definition/workflow.ts'
import { listWorkflows, WorkflowItem, WorkflowsQuery } from './insight/list.ts'
import { editorOf, SECRETS_MASKED, workflowResource } from './workflow-resource.ts'

const Name = z.string().trim().min(1).max(MAX_WORKFLOW_NAME)
const Description = z.string().max(2_000).nullish()
const TriggerConfig = z.unknown().describe('`EVENT`: `{eventName}`. `SCHEDULE`: `{schedule, timezone?, segmentId}`. `MANUAL`: nothing.')

const NewWorkflow = z.object({
  name: Name,
  eventName: z.string().max(255).optional().describe('The event that starts it. Or give `triggerConfig`.'),
  triggerConfig: TriggerConfig.optional(),
  description: Description,
  allowReentry: z.boolean().optional(),
})
const Changes = z.object({
  name: Name.optional(),
  description: Description,
  triggerType: z.enum(TRIGGER_TYPES).optional(),
  triggerConfig: TriggerConfig.optional(),
  enabled: z.boolean().optional(),
  allowReentry: z.boolean().optional(),
})

/** The answer about one workflow. */
export const describeWorkflow = async (db: Db, { row, graph }: { row: WorkflowRow; graph: Graph }) =>
  showWorkflow(row, graph, await findProblems(db, row, graph))

export function workflowRoutes(app: App, { db }: Deps) {
  const route = routesOf(app, { tags: ['Workflows'], caller: 'project', role: 'MEMBER', scope: 'workflows', read: true, ...SENDS_NOTHING })
  const ofWorkflow = workflowResource(app, db)

  route.get(
    '/workflows',
    { summary: 'List workflows', querystring: WorkflowsQuery, response: pageList(WorkflowItem), slowRead: true },
    (req) => listWorkflows(db, req.project.id, req.query),
  )

  route.get(
    '/workflows/fields',
    {
      summary: 'List fields for conditions',
      description: 'Fields of contacts, and with `eventName` those of the last events of this name.',
      querystring: z.object({ eventName: z.string().max(255).optional() }),
      response: WorkflowFields,
      slowRead: true,
    },
    (req) => listWorkflowFields(db, req.project.id, req.query.eventName),
  )

  route.post(
    '/workflows',
    {
      summary: 'Create a workflow',
      description: 'Starts as `EVENT` and disabled, with a TRIGGER step.',
      body: NewWorkflow,
      audit: 'workflow.create',
      response: { 201: Workflow },
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const { name, eventName, triggerConfig, description = null, allowReentry = false } = req.body
      if (eventName === undefined && triggerConfig === undefined) invalid('eventName', 'Required.', 'required')
      const trigger = readTrigger('EVENT', eventName === undefined ? triggerConfig : { eventName })
      const { project, person } = req
      const workflow = { projectId: project.id, name, description, triggerConfig: trigger, allowReentry, savedBy: person?.userId }
      const created = await transact(req.db, async (tx) => describeWorkflow(tx, await createWorkflow(tx, workflow)))
      return reply.status(201).send(created)
    },
  )

  ofWorkflow.get(
    '/workflows/:id',
    {
      summary: 'Get a workflow with its steps and transitions',
      description: SECRETS_MASKED,
      response: Workflow,
      etag: true,
    },
    async (req, row) => maskedFor(req.project, await describeWorkflow(db, { row, graph: await readGraph(db, row) })),
  )

  ofWorkflow.patch(
    '/workflows/:id',
    {
      summary: 'Update a workflow',
      description: 'Disabling keeps contacts from entering; executions that run go on.',
      body: Changes,
      audit: 'workflow.update',
      senders: ['stored', 'live'],
      stops: 'some',
      response: Workflow,
      takesHeaders: [IF_MATCH],
      refusals: ['CONFLICT'],
      etag: true,
    },
    async (req, { projectId, id }) => {
      const changesOf = (stored: WorkflowRow) => changesTo(stored, req.body)
      const edit = { projectId, id, caller: req.project, revisions: readIfMatch(req), changesOf }
      return transact(req.db, async (tx) => {
        const row = await changeWorkflow(tx, edit)
        return describeWorkflow(tx, { row, graph: await readGraph(tx, row) })
      })
    },
  )

  ofWorkflow.delete(
    '/workflows/:id',
    {
      summary: 'Delete a workflow',
      description:
        'Refused while it has active executions. Its executions are deleted with it, and the templates that were written in it unless something else uses them; their emails stay.',
      audit: 'workflow.delete',
      senders: ['stored'],
      stops: 'never',
      response: NO_CONTENT,
      refusals: ['CONFLICT'],
    },
    async (req, { projectId, id }, reply) => {
      await transact(req.db, (tx) => deleteWorkflow(tx, { projectId, id, caller: req.project }))
      return reply.status(204).send(null)
    },
  )

  ofWorkflow.post(
    '/workflows/:id/duplicate',
    {
      summary: 'Duplicate a workflow',
      description: 'The copy is disabled, and has copies of the templates that were written in the original.',
      audit: 'workflow.duplicate',
      senders: ['stored'],
      stops: 'never',
      response: { 201: Workflow },
      refusals: ['CONFLICT'],
    },
    async (req, { projectId, id }, reply) => {
      const copy = { projectId, id, ...editorOf(req) }
      const copied = await transact(req.db, async (tx) => describeWorkflow(tx, await duplicateWorkflow(tx, copy)))
      return reply.status(201).send(copied)
    },
  )
}

function changesTo(stored: WorkflowRow, { triggerType, triggerConfig, ...changes }: z.output<typeof Changes>) {
  if (triggerType === undefined && triggerConfig === undefined) return changes
  const type = triggerType ?? stored.triggerType
  const given = triggerConfig ?? (type === stored.triggerType ? stored.triggerConfig : undefined)
  return { ...changes, trigger: { type, config: readTrigger(type, given) } }
}
