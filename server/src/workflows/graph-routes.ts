import { z } from 'zod'
import { transact } from '../db/index.ts'
import { readIfMatch } from '../http/if-match.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { NO_CONTENT, resource } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { fail, notFound } from '../lib/errors.ts'
import { webhookTargetOf } from '../webhooks/target-of.ts'
import { newStep, newTransition, replaceGraph, type StepInput, withChangedStep } from './definition/edit-graph.ts'
import { type Graph, MAX_GRAPH_STEPS, MAX_GRAPH_TRANSITIONS, stepOf, withoutStep } from './definition/graph.ts'
import { editGraph, type Places } from './definition/save-graph.ts'
import { readStepConfig } from './definition/step-config.ts'
import {
  getWorkflow,
  readGraph,
  showStep,
  showTransition,
  Transition,
  Workflow,
  WorkflowStep,
  workflowNotFound,
} from './definition/workflow.ts'
import { describeWorkflow, WorkflowParam } from './routes.ts'
import { ALL_STEP_TYPES, STEP_TYPES } from './steps/kinds.ts'

const MAX_STEP_NAME = 255
const Position = z.object({ x: z.number(), y: z.number() })
const StepName = z.string().trim().min(1).max(MAX_STEP_NAME)
const Config = z.unknown().describe('By type: see docs/workflows.md.')

const NewStep = z.object({
  type: z.enum(STEP_TYPES),
  name: StepName.optional(),
  position: Position.optional(),
  config: Config.optional(),
  templateId: z.uuid().nullish().describe('The template of a SEND_EMAIL step, instead of `config.templateId`.'),
})
const StepChanges = z.object({
  name: StepName.optional(),
  position: Position.optional(),
  config: Config.optional(),
  templateId: z.uuid().nullish(),
})
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

/** Requests about a single step or transition name its fields directly. */
const BARE: Places = { violation: ({ field }) => field, step: () => '' }

export function workflowGraphRoutes(app: App, { db, config: settings }: Deps) {
  const route = resource(app, {
    tags: ['Workflows'],
    caller: 'project',
    refusals: ['CONFLICT'],
    params: WorkflowParam,
    find: (req, { id }) => getWorkflow(db, { projectId: req.project.id, id }),
  })
  const target = webhookTargetOf(settings)
  const StepParam = z.object({ id: z.string(), stepId: z.string() })

  route.post(
    '/workflows/:id/steps',
    { summary: 'Add a step', body: NewStep, response: { 201: WorkflowStep } },
    async (req, { id, projectId }, reply) => {
      const { type, name, position } = req.body
      const read = await readStepConfig(req.body, { path: '', target, projectId })
      const step = newStep({ type, name, position, ...read }, new Date().toISOString())
      const change = (graph: Graph) => ({ ...graph, steps: [...graph.steps, step] })
      const edited = (await transact(db, (tx) => editGraph(tx, { projectId, id, places: BARE, change }))) ?? workflowNotFound(id)
      return reply.status(201).send(showStep(step, { workflowId: id, graph: edited.graph }))
    },
  )

  route.patch(
    '/workflows/:id/steps/:stepId',
    {
      summary: 'Update a step',
      description: 'Executions that run keep the step as it was when they started.',
      params: StepParam,
      body: StepChanges,
      response: WorkflowStep,
      takesHeaders: [IF_MATCH],
    },
    async (req, row) => {
      const { projectId } = row
      const stepId = req.params.stepId.toLowerCase()
      const stored = stepOf(await readGraph(db, row), stepId) ?? notFound('step', stepId)
      const { config: given, templateId, name, position } = req.body
      const isConfigured = given !== undefined || (templateId !== undefined && templateId !== null)
      const changed = { type: stored.type, config: given ?? stored.config, templateId, storedTemplateId: stored.templateId }
      const read = isConfigured ? await readStepConfig(changed, { path: '', target, projectId }) : {}
      const places: Places = { violation: () => 'config', step: () => '' }
      const change = (graph: Graph) => {
        const current = stepOf(graph, stepId)
        // The config was read for the type that the step had.
        if (current && current.type !== stored.type) fail('CONFLICT', { message: 'The step was changed at the same moment.' })
        return withChangedStep(graph, stepId, { name, position, ...read }, new Date().toISOString())
      }
      const edit = { projectId, id: row.id, revisions: readIfMatch(req), places, change }
      const edited = (await transact(db, (tx) => editGraph(tx, edit))) ?? notFound('step', stepId)
      return showStep(stepOf(edited.graph, stepId)!, { workflowId: row.id, graph: edited.graph })
    },
  )

  route.delete(
    '/workflows/:id/steps/:stepId',
    {
      summary: 'Delete a step',
      description: 'With its transitions. With `splice=true` transitions to it lead to the step after it instead.',
      params: StepParam,
      querystring: z.object({ splice: z.enum(['true', 'false']).optional() }),
      response: NO_CONTENT,
    },
    async (req, { id, projectId }, reply) => {
      const stepId = req.params.stepId.toLowerCase()
      const change = (graph: Graph) => {
        const step = stepOf(graph, stepId)
        if (step?.type === 'TRIGGER') fail('CONFLICT', { message: 'The TRIGGER step cannot be deleted.' })
        return step && withoutStep(graph, stepId, { splice: req.query.splice === 'true' })
      }
      const places: Places = { violation: () => 'splice', step: () => '' }
      const edited = await transact(db, (tx) => editGraph(tx, { projectId, id, places, change }))
      return edited ? reply.status(204).send(null) : notFound('step', stepId)
    },
  )

  route.post(
    '/workflows/:id/transitions',
    { summary: 'Add a transition', body: NewTransition, response: { 201: Transition } },
    async (req, { id, projectId }, reply) => {
      const transition = newTransition({ ...req.body, branch: branchOf(req.body) }, new Date().toISOString())
      const change = (graph: Graph) => ({ ...graph, transitions: [...graph.transitions, transition] })
      const edited = await transact(db, (tx) => editGraph(tx, { projectId, id, places: BARE, change }))
      return edited ? reply.status(201).send(showTransition(transition)) : workflowNotFound(id)
    },
  )

  route.delete(
    '/workflows/:id/transitions/:transitionId',
    { summary: 'Delete a transition', params: z.object({ id: z.string(), transitionId: z.string() }), response: NO_CONTENT },
    async (req, { id, projectId }, reply) => {
      const transitionId = req.params.transitionId.toLowerCase()
      const change = (graph: Graph) => {
        const transitions = graph.transitions.filter((transition) => transition.id !== transitionId)
        return transitions.length < graph.transitions.length ? { ...graph, transitions } : undefined
      }
      const edited = await transact(db, (tx) => editGraph(tx, { projectId, id, places: BARE, change }))
      return edited ? reply.status(204).send(null) : notFound('transition', transitionId)
    },
  )

  route.put(
    '/workflows/:id/graph',
    {
      summary: 'Replace all steps and transitions',
      description: 'At once: no execution starts with a part of the change. New ids may be chosen by the caller.',
      body: NewGraph,
      response: Workflow,
      takesHeaders: [IF_MATCH],
      etag: true,
    },
    async (req, { id, projectId }) => {
      const steps: StepInput[] = []
      for (const [index, step] of req.body.steps.entries()) {
        const read = await readStepConfig(step, { path: `steps.${index}.`, target, projectId })
        steps.push({ id: step.id?.toLowerCase(), type: step.type, name: step.name, position: step.position, ...read })
      }
      const transitions = req.body.transitions.map((each) => ({ ...each, id: each.id?.toLowerCase(), branch: branchOf(each) }))
      const places: Places = {
        violation: ({ index, field }) => (index === undefined ? field : `transitions.${index}.${field}`),
        step: (index) => `steps.${index}.`,
      }
      const change = (graph: Graph) => replaceGraph(graph, { steps, transitions }, new Date().toISOString())
      const edit = { projectId, id, revisions: readIfMatch(req), version: req.body.version, places, change }
      return transact(db, async (tx) => {
        const { row, graph } = (await editGraph(tx, edit)) ?? workflowNotFound(id)
        return describeWorkflow(tx, row, graph)
      })
    },
  )
}
