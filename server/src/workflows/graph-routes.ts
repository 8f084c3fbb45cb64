import { z } from 'zod'
import { transact } from '../db/index.ts'
import { readIfMatch } from '../http/core/if-match.ts'
import type { App, Deps } from '../http/core/types.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { NO_CONTENT } from '../http/resource.ts'
import { notFound } from '../lib/errors/errors.ts'
import { webhookTargetOf } from '../webhooks/target-of.ts'
import { newTransition, replaceGraph, type StepInput } from './definition/edit-graph.ts'
import { type Graph, MAX_GRAPH_STEPS, MAX_GRAPH_TRANSITIONS, stepOf } from './definition/graph.ts'
import { editGraph, type Places } from './definition/save-graph.ts'
import { readGivenStepConfig } from './definition/step-config.ts'
import { readGraph, showTransition, Transition, Workflow } from './definition/workflow.ts'
import { describeWorkflow } from './routes.ts'
import { NewStep } from './step-routes.ts'
import { ALL_STEP_TYPES } from './steps/kinds.ts'
import { editorOf, workflowResource } from './workflow-resource.ts'

const Branch = z.string().min(1).max(100).nullish()
const NewTransition = z.object({
  fromStepId: z.uuid(),
  toStepId: z.uuid(),
  branch: Branch,
  condition: z.object({ branch: Branch }).nullish(),
  priority: z.int().min(-1_000_000).max(1_000_000).optional(),
})
const NewGraph = z.object({
  steps: z
    .array(NewStep.extend({ id: z.uuid().optional(), type: z.enum(ALL_STEP_TYPES) }))
    .max(MAX_GRAPH_STEPS)
    .describe('The TRIGGER step keeps its id, and may be left out.'),
  transitions: z.array(NewTransition.extend({ id: z.uuid().optional() })).max(MAX_GRAPH_TRANSITIONS),
  version: z.int().describe('The version that was read. Refused with 409 when there is a newer one.'),
})

type GivenTransition = z.output<typeof NewTransition> & { id?: string | undefined }
const branchOf = ({ branch, condition }: GivenTransition) => branch ?? condition?.branch ?? null

export function workflowGraphRoutes(app: App, { db, config: settings }: Deps) {
  const route = workflowResource(app, db, ['CONFLICT'])
  const target = webhookTargetOf(settings)

  route.post(
    '/workflows/:id/transitions',
    {
      summary: 'Add a transition',
      body: NewTransition,
      audit: 'workflow.add_transition',
      senders: ['stored', 'live'],
      stops: 'never',
      response: { 201: Transition },
    },
    async (req, { id, projectId }, reply) => {
      const transition = newTransition({ ...req.body, branch: branchOf(req.body) }, new Date().toISOString())
      const change = (graph: Graph) => ({ ...graph, transitions: [...graph.transitions, transition] })
      await transact(req.db, (tx) => editGraph(tx, { projectId, id, ...editorOf(req), change }))
      return reply.status(201).send(showTransition(transition))
    },
  )

  route.delete(
    '/workflows/:id/transitions/:transitionId',
    {
      summary: 'Delete a transition',
      params: z.object({ id: z.string(), transitionId: z.string() }),
      audit: 'workflow.delete_transition',
      senders: ['stored', 'live'],
      stops: 'never',
      response: NO_CONTENT,
    },
    async (req, { id, projectId }, reply) => {
      const transitionId = req.params.transitionId.toLowerCase()
      const change = (graph: Graph) => {
        const transitions = graph.transitions.filter((transition) => transition.id !== transitionId)
        return transitions.length < graph.transitions.length ? { ...graph, transitions } : notFound('transition', transitionId)
      }
      await transact(req.db, (tx) => editGraph(tx, { projectId, id, ...editorOf(req), change }))
      return reply.status(204).send(null)
    },
  )

  route.put(
    '/workflows/:id/graph',
    {
      summary: 'Replace all steps and transitions',
      description: 'At once: no execution starts with a part of the change. New ids may be chosen by the caller.',
      body: NewGraph,
      audit: 'workflow.replace_graph',
      senders: ['stored', 'new', 'live'],
      stops: 'never',
      response: Workflow,
      takesHeaders: [IF_MATCH],
      etag: true,
    },
    async (req, row) => {
      const { id, projectId } = row
      const steps: StepInput[] = []
      // The version of the request, or it is refused.
      const current = await readGraph(db, row)
      for (const [index, step] of req.body.steps.entries()) {
        const stepId = step.id?.toLowerCase()
        const stored = stepId === undefined ? undefined : stepOf(current, stepId)
        const read = await readGivenStepConfig(step, { path: `steps.${index}.`, target, projectId, stored })
        steps.push({ id: stepId, type: step.type, name: step.name, position: step.position, ...read })
      }
      const transitions = req.body.transitions.map((each) => ({ ...each, id: each.id?.toLowerCase(), branch: branchOf(each) }))
      const places: Places = {
        violation: ({ index, field }) => (index === undefined ? field : `transitions.${index}.${field}`),
        step: (index) => `steps.${index}.`,
      }
      const change = (graph: Graph) => replaceGraph(graph, { steps, transitions }, new Date().toISOString())
      const edit = { projectId, id, revisions: readIfMatch(req), version: req.body.version, places, ...editorOf(req), change }
      return transact(req.db, async (tx) => describeWorkflow(tx, await editGraph(tx, edit)))
    },
  )
}
