import { z } from 'zod'
import { findContact } from '../contacts/contact.ts'
import { Data } from '../contacts/data.ts'
import { cursorList } from '../http/paging.ts'
import type { App, Deps } from '../http/server.ts'
import { Address, Timestamp } from '../http/validate.ts'
import { invalid, notFound } from '../lib/errors.ts'
import { isId, newId } from '../lib/id.ts'
import { stepOf } from './definition/graph.ts'
import { readGraph } from './definition/workflow.ts'
import { explainWorkflow, WorkflowExplanation } from './insight/explain.ts'
import { Simulation, simulateWorkflow } from './insight/simulate.ts'
import { readStats, WorkflowStats } from './insight/stats.ts'
import { listVisits, StepVisit, VisitsQuery } from './insight/visits.ts'
import { workflowResource } from './routes.ts'
import type { SimulatedContact } from './steps/step.ts'
import { ListenedEvent } from './steps/wait-for-event.ts'

/** What contacts did in a workflow, and what one would do. */
export function workflowInsightRoutes(app: App, { db, secrets }: Deps) {
  const tags = ['Workflows']
  const config = { caller: 'project' as const }
  const { params, find } = workflowResource(db)

  app.get(
    '/workflows/:id/stats',
    {
      config,
      schema: { tags, summary: 'Get the figures of each step and transition', params, response: { 200: WorkflowStats } },
    },
    async (req) => readStats(db, await find(req)),
  )

  app.get(
    '/workflows/:id/steps/:stepId/visits',
    {
      config: { ...config, slowRead: true },
      schema: {
        tags,
        summary: 'List the visits of a step',
        description: 'Newest first. Those of one outcome are as many as the figure of that name, without `outcome` as many as `entered`.',
        params: params.extend({ stepId: z.string() }),
        querystring: VisitsQuery,
        response: { 200: cursorList(StepVisit) },
      },
    },
    async (req) => {
      const workflow = await find(req)
      const { id: stepId } = stepOf(await readGraph(db, workflow), req.params.stepId.toLowerCase()) ?? notFound('step', req.params.stepId)
      return listVisits(db, secrets, { projectId: workflow.projectId, workflowId: workflow.id, stepId }, req.query)
    },
  )

  app.get(
    '/workflows/:id/explain/:contactId',
    {
      config: { ...config, refusals: ['CONTACT_NOT_FOUND'] },
      schema: {
        tags,
        summary: 'Explain why a contact is in a workflow, or not',
        params: params.extend({ contactId: z.string() }),
        response: { 200: WorkflowExplanation },
      },
    },
    async (req) => {
      const workflow = await find(req)
      const { contactId } = req.params
      return (isId(contactId) && (await explainWorkflow(db, workflow, contactId))) || notFound('contact', contactId)
    },
  )

  app.post(
    '/workflows/:id/simulate',
    {
      config: { ...config, onlyReads: true, slowRead: true, refusals: ['CONTACT_NOT_FOUND'], bodyOptional: true },
      schema: {
        tags,
        summary: 'Simulate a workflow for a contact',
        description:
          'Shows the path with times, rendered subjects and webhook requests. Sends and stores nothing. Waits end by their timeout.',
        params,
        body: z.object({
          contactId: z.uuid().optional(),
          contact: z.object({ email: Address.optional(), subscribed: z.boolean().optional(), data: Data.optional() }).optional(),
          event: z.object({ name: ListenedEvent, data: Data.optional() }).optional(),
          at: Timestamp.optional().describe('When the execution starts; now by default.'),
        }),
        response: { 200: Simulation },
      },
    },
    async (req) => {
      const workflow = await find(req)
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
    const { id, email, subscribed, data, createdAt } = (await findContact(db, projectId, contactId)) ?? notFound('contact', contactId)
    return { id, email, subscribed, data: data ?? {}, createdAt: new Date(createdAt) }
  }
}

/** A simulation of 100 delays of a year ends in a year of four digits. */
const LAST_YEAR = 9_000

type GivenContact = { email?: string | undefined; subscribed?: boolean | undefined; data?: { set: object; transient: object } | undefined }

const sampleContact = ({ email = 'ada@example.com', subscribed = true, data }: GivenContact = {}, createdAt: Date): SimulatedContact => ({
  id: newId(),
  email,
  subscribed,
  createdAt,
  data: { ...data?.set, ...data?.transient },
})
