import { z } from 'zod'
import { getContact } from '../contacts/record/contact.ts'
import { Data, NO_DATA } from '../contacts/record/data.ts'
import { transact } from '../db/index.ts'
import { requireSendersOf } from '../http/auth/what-sends.ts'
import { pageList } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { fail, invalid } from '../lib/errors/errors.ts'
import { KB } from '../lib/text/units.ts'
import { seesWebhooks } from './definition/masked-steps.ts'
import { CANCEL_FILTER, cancelExecution, cancelExecutionsOfWorkflow } from './executions/cancel.ts'
import { holdWorkflows, startExecution } from './executions/enrol.ts'
import {
  describeExecution,
  Execution,
  ExecutionDetails,
  ExecutionItem,
  ExecutionsQuery,
  getExecution,
  listExecutions,
} from './insight/execution.ts'
import { maskWebhook } from './steps/webhook-mask.ts'
import { SECRETS_MASKED, workflowResource } from './workflow-resource.ts'

const { data, ...rest } = pageList(ExecutionItem).shape
const ExecutionList = z.object({ data, executions: data.describe('The same as `data`.'), ...rest })

const MAX_CANCEL_ROUNDS = 2_000
const MAX_CONTEXT_BYTES = 64 * KB
/** By the rules of `data`: reserved keys are dropped, wrapped values unwrapped. */
const Context = Data.optional().describe('Variables of this execution: in templates by their names, in conditions as `context.<path>`.')

export function workflowExecutionRoutes(app: App, { db }: Deps) {
  const route = workflowResource(app, db)
  const ExecutionParam = z.object({ id: z.string(), executionId: z.string() })

  route.post(
    '/workflows/:id/executions',
    {
      summary: 'Start an execution for a contact',
      description: 'Refused with 409 while the workflow is disabled, and for a contact that may not enter.',
      body: z.object({ contactId: z.uuid(), context: Context }),
      audit: 'execution.start',
      scope: { all: ['workflows', 'send'] },
      senders: ['stored'],
      stops: 'never',
      response: { 201: ExecutionDetails },
      refusals: ['CONFLICT', 'CONTACT_NOT_FOUND'],
    },
    async (req, workflow, reply) => {
      const { id: workflowId, projectId } = workflow
      const { contactId, context: given = NO_DATA } = req.body
      const context = { ...given.set, ...given.transient }
      if (Buffer.byteLength(JSON.stringify(context)) > MAX_CONTEXT_BYTES)
        invalid('context', `At most ${MAX_CONTEXT_BYTES / KB} KB.`, 'too_big')
      const started = await transact(req.db, async (tx) => {
        await holdWorkflows(tx, projectId, [workflowId])
        await requireSendersOf(tx, req.project, { workflow: workflowId })
        await getContact(tx, projectId, contactId)
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
    { summary: 'Get an execution with its steps', description: SECRETS_MASKED, params: ExecutionParam, response: ExecutionDetails },
    async (req, { projectId, id }) => {
      const execution = await describeExecution(db, { projectId, workflowId: id, id: req.params.executionId })
      if (seesWebhooks(req.project)) return execution
      const stepExecutions = execution.stepExecutions.map((step) => ({ ...step, input: maskWebhook(step.input) }))
      return { ...execution, stepExecutions }
    },
  )

  route.delete(
    '/workflows/:id/executions/:executionId',
    {
      summary: 'Cancel an execution',
      description: 'Refused with 409 if it has ended. An email that is already queued is sent.',
      params: ExecutionParam,
      audit: 'execution.cancel',
      senders: 'none',
      stops: 'always',
      response: Execution,
      refusals: ['CONFLICT'],
    },
    async (req, { projectId, id: workflowId }) => {
      const key = { projectId, workflowId, id: req.params.executionId }
      await getExecution(db, key)
      return transact(req.db, async (tx) => {
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
      audit: 'workflow.cancel_executions',
      senders: 'none',
      stops: 'always',
      response: z.object({ cancelled: z.int() }),
    },
    async (req, { projectId, id }) => {
      let cancelled = 0
      // In chunks, as there may be a million. Those that start meanwhile are cancelled too, up to a bound of rounds.
      for (let round = 0; round < MAX_CANCEL_ROUNDS; round++) {
        const count = await transact(req.db, (tx) => cancelExecutionsOfWorkflow(tx, projectId, id, req.query))
        cancelled += count
        if (!count) break
      }
      return { cancelled }
    },
  )
}
