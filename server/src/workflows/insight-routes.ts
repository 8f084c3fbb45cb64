import { z } from 'zod'
import { findContact } from '../contacts/contact.ts'
import { Data } from '../contacts/data.ts'
import { cursorList } from '../http/paging.ts'
import type { App, Deps } from '../http/server.ts'
import { Address, GivenTime } from '../http/validate.ts'
import { contactNotFound, invalid, notFound } from '../lib/errors.ts'
import { isId, newId } from '../lib/id.ts'
import { stepOf } from './definition/graph.ts'
import { readGraph } from './definition/workflow.ts'
import { explainWorkflow, WorkflowExplanation } from './insight/explain.ts'
import { Simulation, simulateWorkflow } from './insight/simulate.ts'
import { readStats, WorkflowStats } from './insight/stats.ts'
import { listVisits, StepVisit, VisitsQuery } from './insight/visits.ts'
import type { SimulatedContact } from './steps/step.ts'
import { ListenedEvent } from './steps/wait-for-event.ts'
import { workflowResource } from './workflow-resource.ts'

/** A simulation of 100 delays of a year ends in a year of four digits. */
const LAST_YEAR = 9_000

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

  route.post(
    '/workflows/:id/simulate',
    {
      summary: 'Simulate a workflow for a contact',
      description:
        'Shows the path with times, rendered subjects and webhook requests. Sends and stores nothing. Waits end by their timeout.',
      body: z.object({
        contactId: z.uuid().optional(),
        contact: z.object({ email: Address.optional(), subscribed: z.boolean().optional(), data: Data.optional() }).optional(),
        event: z.object({ name: ListenedEvent, data: Data.optional() }).optional(),
        at: GivenTime.optional().describe('When the execution starts; now by default.'),
      }),
      response: Simulation,
      onlyReads: true,
      slowRead: true,
      refusals: ['CONTACT_NOT_FOUND'],
      bodyOptional: true,
    },
    async (req, workflow) => {
      const { contactId, contact: given, event, at } = req.body
      const start = at === undefined ? new Date() : new Date(at)
      if (start.getUTCFullYear() > LAST_YEAR) invalid('at', `Must be at most in the year ${LAST_YEAR}.`, 'too_big')
      const contact = contactId === undefined ? sampleContact(given, start) : await storedContact(workflow.projectId, contactId)
      const data = { ...event?.data?.set, ...event?.data?.transient }
      return simulateWorkflow(db, workflow, {
        contact,
        isStored: contactId !== undefined,
        event: event ? { id: newId(), name: event.name, data, createdAt: start.toISOString() } : null,
        at: start,
      })
    },
  )

  async function storedContact(projectId: string, contactId: string): Promise<SimulatedContact> {
    const { id, email, subscribed, data, createdAt } = (await findContact(db, projectId, contactId)) ?? contactNotFound(contactId)
    return { id, email, subscribed, data: data ?? {}, createdAt: new Date(createdAt) }
  }
}

type GivenContact = { email?: string | undefined; subscribed?: boolean | undefined; data?: { set: object; transient: object } | undefined }

const sampleContact = ({ email = 'ada@example.com', subscribed = true, data }: GivenContact = {}, createdAt: Date): SimulatedContact => ({
  id: newId(),
  email,
  subscribed,
  createdAt,
  data: { ...data?.set, ...data?.transient },
})
