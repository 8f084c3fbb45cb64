import { z } from 'zod'
import { findContact } from '../contacts/contact.ts'
import { Data, NO_DATA } from '../contacts/data.ts'
import { transact } from '../db/index.ts'
import type { App, Deps } from '../http/server.ts'
import { fail, invalid, notFound } from '../lib/errors.ts'
import { KB } from '../lib/text/units.ts'
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
import { workflowResource } from './routes.ts'

const MAX_CONTEXT_BYTES = 64 * KB
/** By the rules of `data`: reserved keys are dropped, wrapped values unwrapped. */
const Context = Data.optional().describe('Variables of this execution: in templates by their names, in conditions as `context.<path>`.')

const ExecutionList = z.object({
  data: z.array(ExecutionItem),
  executions: z.array(ExecutionItem).describe('The same as `data`.'),
  total: z.int(),
  page: z.int(),
  pageSize: z.int(),
  totalPages: z.int(),
})

/** Strict: with a misspelt filter it would cancel every execution. */
const CancelledQuery = z.strictObject({
  status: z.enum(['RUNNING', 'WAITING']).optional(),
  stepId: z.uuid().optional().describe('Executions that are at this step.'),
  contactId: z.uuid().optional(),
  ...STARTED_FILTER,
})

export function workflowExecutionRoutes(app: App, { db }: Deps) {
  const tags = ['Workflows']
  const config = { caller: 'project' as const }
  const { params, find } = workflowResource(db)
  const ExecutionParam = params.extend({ executionId: z.string() })

  app.post(
    '/workflows/:id/executions',
    {
      config: { ...config, refusals: ['CONFLICT', 'CONTACT_NOT_FOUND'] },
      schema: {
        tags,
        summary: 'Start an execution for a contact',
        description: 'Refused with 409 while the workflow is disabled, and for a contact that may not enter.',
        params,
        body: z.object({ contactId: z.uuid(), context: Context }),
        response: { 201: ExecutionDetails },
      },
    },
    async (req, reply) => {
      const { id: workflowId, projectId } = await find(req)
      const { contactId, context: given = NO_DATA } = req.body
      const context = { ...given.set, ...given.transient }
      if (Buffer.byteLength(JSON.stringify(context)) > MAX_CONTEXT_BYTES)
        invalid('context', `At most ${MAX_CONTEXT_BYTES / KB} KB.`, 'too_big')
      if (!(await findContact(db, projectId, contactId))) notFound('contact', contactId)
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
        params,
        querystring: ExecutionsQuery,
        response: {
          200: ExecutionList,
        },
      },
    },
    async (req) => {
      const { projectId, id } = await find(req)
      return listExecutions(db, { projectId, workflowId: id }, req.query)
    },
  )

  app.get(
    '/workflows/:id/executions/:executionId',
    { config, schema: { tags, summary: 'Get an execution with its steps', params: ExecutionParam, response: { 200: ExecutionDetails } } },
    async (req) => {
      const { projectId, id } = await find(req)
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
      const { projectId, id: workflowId } = await find(req)
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
        params,
        querystring: CancelledQuery,
        response: { 200: z.object({ cancelled: z.int() }) },
      },
    },
    async (req) => {
      const { projectId, id } = await find(req)
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
}

const MAX_CANCEL_ROUNDS = 2_000
