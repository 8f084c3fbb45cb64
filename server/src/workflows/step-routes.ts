import { z } from 'zod'
import { transact } from '../db/index.ts'
import { readIfMatch } from '../http/core/if-match.ts'
import type { App, Deps } from '../http/core/types.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { NO_CONTENT } from '../http/resource.ts'
import { fail, notFound } from '../lib/errors/errors.ts'
import { webhookTargetOf } from '../webhooks/target-of.ts'
import { newStep, withChangedStep } from './definition/edit-graph.ts'
import { type Graph, stepOf, withoutStep } from './definition/graph.ts'
import { editGraph, type Places } from './definition/save-graph.ts'
import { readGivenStepConfig } from './definition/step-config.ts'
import { readGraph, showStep, WorkflowStep } from './definition/workflow.ts'
import { STEP_TYPES } from './steps/kinds.ts'
import { editorOf, workflowResource } from './workflow-resource.ts'

const MAX_STEP_NAME = 255
const Position = z.object({ x: z.number(), y: z.number() })
const StepName = z.string().trim().min(1).max(MAX_STEP_NAME)
const Config = z.unknown().describe('By type: see docs/workflows.md.')

export const NewStep = z.object({
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

export function workflowStepRoutes(app: App, { db, config: settings }: Deps) {
  const route = workflowResource(app, db, ['CONFLICT'])
  const target = webhookTargetOf(settings)
  const StepParam = z.object({ id: z.string(), stepId: z.string() })

  route.post(
    '/workflows/:id/steps',
    {
      summary: 'Add a step',
      body: NewStep,
      audit: 'workflow.add_step',
      senders: ['stored', 'new', 'live'],
      stops: 'never',
      response: { 201: WorkflowStep },
    },
    async (req, { id, projectId }, reply) => {
      const { type, name, position } = req.body
      const read = await readGivenStepConfig(req.body, { path: '', target, projectId, stored: undefined })
      const step = newStep({ type, name, position, ...read }, new Date().toISOString())
      const change = (graph: Graph) => ({ ...graph, steps: [...graph.steps, step] })
      const { graph } = await transact(req.db, (tx) => editGraph(tx, { projectId, id, ...editorOf(req), change }))
      return reply.status(201).send(showStep(step, { workflowId: id, graph }))
    },
  )

  route.patch(
    '/workflows/:id/steps/:stepId',
    {
      summary: 'Update a step',
      description: 'Executions that run keep the step as it was when they started.',
      params: StepParam,
      body: StepChanges,
      audit: 'workflow.update_step',
      senders: ['stored', 'new', 'live'],
      stops: 'never',
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
      const read = isConfigured ? await readGivenStepConfig(changed, { path: '', target, projectId, stored }) : {}
      const places: Places = { violation: () => 'config', step: () => '' }
      const change = (graph: Graph) => {
        const current = stepOf(graph, stepId) ?? notFound('step', stepId)
        // The config was read for the type that the step had.
        if (current.type !== stored.type) fail('CONFLICT', { message: 'The step was changed at the same moment.' })
        return withChangedStep(graph, stepId, { name, position, ...read }, new Date().toISOString())
      }
      const edit = { projectId, id: row.id, revisions: readIfMatch(req), places, ...editorOf(req), change }
      const { graph } = await transact(req.db, (tx) => editGraph(tx, edit))
      return showStep(stepOf(graph, stepId)!, { workflowId: row.id, graph })
    },
  )

  route.delete(
    '/workflows/:id/steps/:stepId',
    {
      summary: 'Delete a step',
      description: 'With its transitions. With `splice=true` transitions to it lead to the step after it instead.',
      params: StepParam,
      querystring: z.object({ splice: z.enum(['true', 'false']).optional() }),
      audit: 'workflow.delete_step',
      senders: ['stored', 'live'],
      stops: 'never',
      response: NO_CONTENT,
    },
    async (req, { id, projectId }, reply) => {
      const stepId = req.params.stepId.toLowerCase()
      const change = (graph: Graph) => {
        const step = stepOf(graph, stepId) ?? notFound('step', stepId)
        if (step.type === 'TRIGGER') fail('CONFLICT', { message: 'The TRIGGER step cannot be deleted.' })
        return withoutStep(graph, stepId, { splice: req.query.splice === 'true' })
      }
      const places: Places = { violation: () => 'splice', step: () => '' }
      await transact(req.db, (tx) => editGraph(tx, { projectId, id, places, ...editorOf(req), change }))
      return reply.status(204).send(null)
    },
  )
}
