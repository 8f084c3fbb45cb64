import { z } from 'zod'
import { transact } from '../db/index.ts'
import { requireSendersOf } from '../http/auth/what-sends.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { notFound } from '../lib/errors/errors.ts'
import { webhookTargetOf } from '../webhooks/target-of.ts'
import { MAX_WORKFLOW_NAME } from './definition/save.ts'
import { TRIGGER_TYPES } from './definition/trigger.ts'
import { Workflow } from './definition/workflow.ts'
import { createFromRecipe } from './recipes/create-recipe.ts'
import type { Recipe, RecipeStep } from './recipes/recipe.ts'
import { findRecipe, RECIPES, snippetOf } from './recipes/recipes.ts'
import { describeWorkflow } from './routes.ts'
import { ALL_STEP_TYPES } from './steps/kinds.ts'
import { ListenedEvent } from './steps/wait-for-event.ts'

const WorkflowRecipe = z
  .object({
    key: z.string(),
    name: z.string(),
    description: z.string(),
    triggerType: z.enum(TRIGGER_TYPES),
    eventName: z.string().nullable().describe('The event that starts it. Null: a schedule does.'),
    needs: z
      .array(
        z.object({
          kind: z.enum(['event', 'field']),
          name: z.string(),
          when: z.string(),
          snippet: z.string().nullable().describe('A request that brings it. Null: Sterna records it by itself.'),
        }),
      )
      .describe('Events to track and fields of contacts, without which it does nothing.'),
    emails: z.array(z.object({ name: z.string(), subject: z.string(), type: z.enum(['MARKETING', 'TRANSACTIONAL']) })),
    steps: z.array(z.object({ type: z.enum(ALL_STEP_TYPES), name: z.string() })).describe('In the order of the outline.'),
  })
  .meta({ id: 'WorkflowRecipe' })

export function workflowRecipeRoutes(app: App, { config }: Deps) {
  const route = routesOf(app, { tags: ['Workflows'], caller: 'project', role: 'MEMBER', scope: 'workflows', read: true })
  const target = webhookTargetOf(config)

  route.get(
    '/workflows/recipes',
    {
      summary: 'List recipes for workflows',
      description: 'Complete workflows with their emails, to begin with and to change.',
      response: z.object({ data: z.array(WorkflowRecipe) }),
    },
    () => ({ data: RECIPES.map((recipe) => show(recipe, config.publicUrl)) }),
  )

  route.post(
    '/workflows/recipes/:key',
    {
      summary: 'Create a workflow from a recipe',
      description:
        'Makes its templates, in the look of the project, a segment if it runs by a schedule, and the workflow, which is disabled. The sender of the templates is that of the template changed last, else one of the first verified domain.',
      params: z.object({ key: z.string().max(100) }),
      body: z.object({
        name: z.string().trim().min(1).max(MAX_WORKFLOW_NAME).optional(),
        eventName: ListenedEvent.optional().describe('Instead of the event of the recipe. Ignored for a schedule.'),
      }),
      audit: 'workflow.create_from_recipe',
      scope: { all: ['workflows', 'templates'] },
      senders: ['new'],
      stops: 'never',
      response: { 201: Workflow },
      refusals: ['CONFLICT'],
      bodyOptional: true,
    },
    async (req, reply) => {
      const recipe = findRecipe(req.params.key) ?? notFound('recipe', req.params.key)
      const { name, eventName } = req.body ?? {}
      const creation = { projectId: req.project.id, recipe, name, eventName, savedBy: req.person?.userId, target }
      const created = await transact(req.db, async (tx) => {
        const workflow = await createFromRecipe(tx, creation)
        await requireSendersOf(tx, req.project, { workflow: workflow.row.id })
        return describeWorkflow(tx, workflow)
      })
      return reply.status(201).send(created)
    },
  )
}

const show = ({ key, name, description, trigger, needs, emails, steps }: Recipe, publicUrl: string): z.output<typeof WorkflowRecipe> => ({
  key,
  name,
  description,
  triggerType: trigger.type,
  eventName: trigger.type === 'EVENT' ? trigger.eventName : null,
  needs: needs.map((need) => ({ kind: need.kind, name: need.name, when: need.when, snippet: snippetOf(need, publicUrl) })),
  emails: Object.values(emails).map(({ name, subject, type = 'MARKETING' }) => ({ name, subject, type })),
  steps: steps.flatMap(outline),
})

const outline = ({ type, name, branches = {} }: RecipeStep): z.output<typeof WorkflowRecipe>['steps'] => [
  { type, name },
  ...Object.values(branches).flatMap((line) => line.flatMap(outline)),
]
