import { z } from 'zod'
import { cursorList } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { contactNotFound, notFound } from '../lib/errors/errors.ts'
import { isId } from '../lib/id.ts'
import { stepOf } from './definition/graph.ts'
import { readGraph } from './definition/workflow.ts'
import { explainWorkflow, WorkflowExplanation } from './insight/explain.ts'
import { readStats, WorkflowStats } from './insight/stats.ts'
import { listVisits, StepVisit, VisitsQuery } from './insight/visits.ts'
import { workflowResource } from './workflow-resource.ts'

export function workflowInsightRoutes(app: App, { db, secrets }: Deps) {
  const route = workflowResource(app, db)

  route.get('/workflows/:id/stats', { summary: 'Get the figures of each step and transition', response: WorkflowStats }, (_req, workflow) =>
    readStats(db, workflow),
  )

  route.get(
    '/workflows/:id/steps/:stepId/visits',
    {
      summary: 'List the visits of a step',
      description: 'Newest first. Those of one outcome are as many as the figure of that name, without `outcome` as many as `entered`.',
      params: z.object({ id: z.string(), stepId: z.string() }),
      querystring: VisitsQuery,
      response: cursorList(StepVisit),
      slowRead: true,
    },
    async (req, workflow) => {
      const { id: stepId } = stepOf(await readGraph(db, workflow), req.params.stepId.toLowerCase()) ?? notFound('step', req.params.stepId)
      return listVisits(db, secrets, { projectId: workflow.projectId, workflowId: workflow.id, stepId }, req.query)
    },
  )

  route.get(
    '/workflows/:id/explain/:contactId',
    {
      summary: 'Explain why a contact is in a workflow, or not',
      params: z.object({ id: z.string(), contactId: z.string() }),
      response: WorkflowExplanation,
      refusals: ['CONTACT_NOT_FOUND'],
    },
    async (req, workflow) => {
      const { contactId } = req.params
      return (isId(contactId) && (await explainWorkflow(db, workflow, contactId))) || contactNotFound(contactId)
    },
  )
}
