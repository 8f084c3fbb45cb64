import { z } from 'zod'
import { findContact } from '../contacts/contact.ts'
import { Data, NO_DATA } from '../contacts/data.ts'
import { transact } from '../db/index.ts'
import { cursorList, pageList } from '../http/paging.ts'
import { resource } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { fail, invalid, notFound } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'
import { KB } from '../lib/text/units.ts'
import { stepOf } from './definition/graph.ts'
import { getWorkflow, readGraph } from './definition/workflow.ts'
import { CANCEL_FILTER, cancelExecution, cancelExecutionsOfWorkflow } from './executions/cancel.ts'
import { startExecution } from './executions/enrol.ts'
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
import { readStats, WorkflowStats } from './insight/stats.ts'
import { listVisits, StepVisit, VisitsQuery } from './insight/visits.ts'
import { WorkflowParam } from './routes.ts'

const { data, ...rest } = pageList(ExecutionItem).shape
const ExecutionList = z.object({ data, executions: data.describe('The same as `data`.'), ...rest })

const MAX_CONTEXT_BYTES = 64 * KB
/** By the rules of `data`: reserved keys are dropped, wrapped values unwrapped. */
const Context = Data.optional().describe('Variables of this execution: in templates by their names, in conditions as `context.<path>`.')

export const contactNotFound = (id: string): never => fail('CONTACT_NOT_FOUND', { details: { resource: 'contact', id: id.slice(0, 100) } })

export function workflowExecutionRoutes(app: App, { db, secrets }: Deps) {
  const route = resource(app, {
    tags: ['Workflows'],
    caller: 'project',
    params: WorkflowParam,
    find: (req, { id }) => getWorkflow(db, { projectId: req.project.id, id }),
  })
  const ExecutionParam = z.object({ id: z.string(), executionId: z.string() })

  route.post(
    '/workflows/:id/executions',
    {
      summary: 'Start an execution for a contact',
      description: 'Refused with 409 while the workflow is disabled, and for a contact that may not enter.',
      body: z.object({ contactId: z.uuid(), context: Context }),
      response: { 201: ExecutionDetails },
      refusals: ['CONFLICT', 'CONTACT_NOT_FOUND'],
    },
    async (req, { id: workflowId, projectId }, reply) => {
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

  route.get(
    '/workflows/:id/executions',
    {
      summary: 'List executions',
      description: 'Newest first. At most 10,000 are counted and listed: filters find the others.',
      querystring: ExecutionsQuery,
      response: ExecutionList,
      slowRead: true,
    },
    (req, { projectId, id }) => listExecutions(db, { projectId, workflowId: id }, req.query),
  )

  route.get(
    '/workflows/:id/executions/:executionId',
    { summary: 'Get an execution with its steps', params: ExecutionParam, response: ExecutionDetails },
    (req, { projectId, id }) => describeExecution(db, { projectId, workflowId: id, id: req.params.executionId }),
  )

  route.delete(
    '/workflows/:id/executions/:executionId',
    {
      summary: 'Cancel an execution',
      description: 'Refused with 409 if it has ended. An email that is already queued is sent.',
      params: ExecutionParam,
      response: Execution,
      refusals: ['CONFLICT'],
    },
    async (req, { projectId, id: workflowId }) => {
      const key = { projectId, workflowId, id: req.params.executionId }
      await getExecution(db, key)
      return transact(db, async (tx) => {
        if (!(await cancelExecution(tx, projectId, key.id))) fail('CONFLICT', { message: 'The execution has ended.' })
        return getExecution(tx, key)
      })
    },
  )

  route.post(
    '/workflows/:id/executions/cancel-all',
    {
      summary: 'Cancel all active executions',
      description: 'Or those that match the filters.',
      // Strict: with a misspelt filter it would cancel every execution.
      querystring: z.strictObject(CANCEL_FILTER),
      response: z.object({ cancelled: z.int() }),
    },
    async (req, { projectId, id }) => {
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

const MAX_CANCEL_ROUNDS = 2_000
