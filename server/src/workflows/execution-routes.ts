import { z } from 'zod'
import { findContact } from '../contacts/contact.ts'
import { Data, NO_DATA } from '../contacts/data.ts'
import { transact } from '../db/index.ts'
import { cursorList } from '../http/paging.ts'
import type { App, Deps } from '../http/server.ts'
import { Address, Timestamp } from '../http/validate.ts'
import { fail, invalid, notFound } from '../lib/errors.ts'
import { isId, newId } from '../lib/id.ts'
import { KB } from '../lib/text/units.ts'
import { stepOf } from './definition/graph.ts'

import { getWorkflow, readGraph } from './definition/workflow.ts'
import { cancelExecution, cancelExecutionsOfWorkflow } from './executions/cancel.ts'
import { startExecution } from './executions/start.ts'
import { STARTED_FILTER } from './executions/started.ts'
import {
  describeExecution,
  Execution,
  ExecutionDetails,
  ExecutionItem,
  ExecutionsQuery,
  getExecution,
  listExecutions,
} from './insight/execution.ts'
import { explainWorkflow, WorkflowExplanation } from './insight/explain.ts'
import { Simulation, simulateWorkflow } from './insight/simulate.ts'
import { readStats, WorkflowStats } from './insight/stats.ts'
import { listVisits, StepVisit, VisitsQuery } from './insight/visits.ts'
import { WorkflowParam } from './routes.ts'
import type { SimulatedContact } from './steps/step.ts'
import { ListenedEvent } from './steps/wait-for-event.ts'

const MAX_CONTEXT_BYTES = 64 * KB
/** By the rules of `data`: reserved keys are dropped, wrapped values unwrapped. */
const Context = Data.optional().describe('Variables of this execution: in templates by their names, in conditions as `context.<path>`.')

const contactNotFound = (id: string): never => fail('CONTACT_NOT_FOUND', { details: { resource: 'contact', id: id.slice(0, 100) } })

export function workflowExecutionRoutes(app: App, { db, secrets }: Deps) {
  const tags = ['Workflows']
  const config = { caller: 'project' as const }
  const ExecutionParam = z.object({ id: z.string(), executionId: z.string() })

  app.post(
    '/workflows/:id/executions',
    {
      config: { ...config, refusals: ['CONFLICT', 'CONTACT_NOT_FOUND'] },
      schema: {
        tags,
        summary: 'Start an execution for a contact',
        description: 'Refused with 409 while the workflow is disabled, and for a contact that may not enter.',
        params: WorkflowParam,
        body: z.object({ contactId: z.uuid(), context: Context }),
        response: { 201: ExecutionDetails },
      },
    },
    async (req, reply) => {
      const key = { projectId: req.project.id, id: req.params.id }
      const { id: workflowId, projectId } = await getWorkflow(db, key)
      const { contactId, context: given = NO_DATA } = req.body
      const context = { ...given.set, ...given.transient }
      if (Buffer.byteLength(JSON.stringify(context)) > MAX_CONTEXT_BYTES)
        invalid('context', `At most ${MAX_CONTEXT_BYTES / KB} KB.`, 'too_big')
      if (!(await findContact(db, projectId, contactId))) contactNotFound(contactId)
      const started = await transact(db, async (tx) => {
        const id = await startExecution(tx, { projectId, id: workflowId }, { contactId: contactId.toLowerCase(), context })
        return describeExecution(tx, { projectId, workflowId, id })
      })
      return reply.status(201).send(started)
    },
  )

  app.get(
    '/workflows/:id/executions',
    {
      config: { ...config, slowRead: true },
      schema: {
        tags,
        summary: 'List executions',
        description: 'Newest first. At most 10,000 are counted and listed: filters find the others.',
        params: WorkflowParam,
        querystring: ExecutionsQuery,
        response: {
          200: z.object({
            data: z.array(ExecutionItem),
            executions: z.array(ExecutionItem).describe('The same as `data`.'),
            total: z.int(),
            page: z.int(),
            pageSize: z.int(),
            totalPages: z.int(),
          }),
        },
      },
    },
    async (req) => {
      const { projectId, id } = await getWorkflow(db, { projectId: req.project.id, id: req.params.id })
      return listExecutions(db, { projectId, workflowId: id }, req.query)
    },
  )

  app.get(
    '/workflows/:id/executions/:executionId',
    { config, schema: { tags, summary: 'Get an execution with its steps', params: ExecutionParam, response: { 200: ExecutionDetails } } },
    async (req) => {
      const { projectId, id } = await getWorkflow(db, { projectId: req.project.id, id: req.params.id })
      return describeExecution(db, { projectId, workflowId: id, id: req.params.executionId })
    },
  )

  app.delete(
    '/workflows/:id/executions/:executionId',
    {
      config: { ...config, refusals: ['CONFLICT'] },
      schema: {
        tags,
        summary: 'Cancel an execution',
        description: 'Refused with 409 if it has ended. An email that is already queued is sent.',
        params: ExecutionParam,
        response: { 200: Execution },
      },
    },
    async (req) => {
      const { projectId, id: workflowId } = await getWorkflow(db, { projectId: req.project.id, id: req.params.id })
      const key = { projectId, workflowId, id: req.params.executionId }
      await getExecution(db, key)
      return transact(db, async (tx) => {
        if (!(await cancelExecution(tx, projectId, key.id))) fail('CONFLICT', { message: 'The execution has ended.' })
        return getExecution(tx, key)
      })
    },
  )

  app.post(
    '/workflows/:id/executions/cancel-all',
    {
      config,
      schema: {
        tags,
        summary: 'Cancel all active executions',
        description: 'Or those that match the filters.',
        params: WorkflowParam,
        // Strict: with a misspelt filter it would cancel every execution.
        querystring: z.strictObject({
          status: z.enum(['RUNNING', 'WAITING']).optional(),
          stepId: z.uuid().optional().describe('Executions that are at this step.'),
          contactId: z.uuid().optional(),
          ...STARTED_FILTER,
        }),
        response: { 200: z.object({ cancelled: z.int() }) },
      },
    },
    async (req) => {
      const { projectId, id } = await getWorkflow(db, { projectId: req.project.id, id: req.params.id })
      let cancelled = 0
      // In chunks, as there may be a million. Those that start meanwhile are cancelled too, up to a bound of rounds.
      for (let round = 0; round < MAX_CANCEL_ROUNDS; round++) {
        const count = await transact(db, (tx) => cancelExecutionsOfWorkflow(tx, projectId, id, req.query))
        cancelled += count
        if (!count) break
      }
      return { cancelled }
    },
  )

  app.get(
    '/workflows/:id/stats',
    {
      config,
      schema: { tags, summary: 'Get the figures of each step and transition', params: WorkflowParam, response: { 200: WorkflowStats } },
    },
    async (req) => readStats(db, await getWorkflow(db, { projectId: req.project.id, id: req.params.id })),
  )

  app.get(
    '/workflows/:id/steps/:stepId/visits',
    {
      config: { ...config, slowRead: true },
      schema: {
        tags,
        summary: 'List the visits of a step',
        description: 'Newest first. Those of one outcome are as many as the figure of that name, without `outcome` as many as `entered`.',
        params: z.object({ id: z.string(), stepId: z.string() }),
        querystring: VisitsQuery,
        response: { 200: cursorList(StepVisit) },
      },
    },
    async (req) => {
      const workflow = await getWorkflow(db, { projectId: req.project.id, id: req.params.id })
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
        params: z.object({ id: z.string(), contactId: z.string() }),
        response: { 200: WorkflowExplanation },
      },
    },
    async (req) => {
      const workflow = await getWorkflow(db, { projectId: req.project.id, id: req.params.id })
      const { contactId } = req.params
      return (isId(contactId) && (await explainWorkflow(db, workflow, contactId))) || contactNotFound(contactId)
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
        params: WorkflowParam,
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
      const workflow = await getWorkflow(db, { projectId: req.project.id, id: req.params.id })
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

const MAX_CANCEL_ROUNDS = 2_000
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
