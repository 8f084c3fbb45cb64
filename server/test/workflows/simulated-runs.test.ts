import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { many, maybeOne } from '../../src/db/index.ts'
import { newId } from '../../src/lib/id.ts'
import { useApp } from '../support/app.ts'
import { driveWorkflows } from './driven-workflows.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useApp({ withWorker: false, env: { RATE_LIMIT_PER_MINUTE: '0' } })

const RUNS = 12
const MAX_NODES = 6
/** Longer than every pause of a graph. */
const PAUSE_SECONDS = 4_000

type Node = { type: string; config: object; branches: (string | null)[] }
type Templates = Record<'plain' | 'consent' | 'senderless', string>

const plan = fc.constantFrom('gold', 'silver')
const asked = fc.oneof(
  plan.map((value) => ({ field: 'data.plan', operator: 'equals', value })),
  fc.boolean().map((value) => ({ field: 'subscribed', operator: 'equals', value })),
  fc.constantFrom('A', 'B').map((value) => ({ field: 'event.code', operator: 'equals', value })),
)
const choice = {
  mode: 'multi',
  field: 'data.plan',
  branches: ['gold', 'silver'].map((value) => ({ id: value, operator: 'equals', value })),
}

const nodes = (templates: Templates): fc.Arbitrary<Node> => {
  const of = (type: string, branches: (string | null)[], config: fc.Arbitrary<object>) =>
    config.map((each) => ({ type, branches, config: each }))
  const recipient = fc.constantFrom({ type: 'CONTACT' }, { type: 'CONTACT' }, { type: 'CUSTOM', customEmail: 'team@example.com' })
  const templateId = fc.constantFrom(templates.plain, templates.plain, templates.consent, templates.consent, templates.senderless)
  const subscriptionAction = fc.constantFrom('none', 'subscribe', 'unsubscribe')
  return fc.oneof(
    { weight: 4, arbitrary: of('SEND_EMAIL', [null], fc.record({ templateId, recipient })) },
    { weight: 1, arbitrary: of('DELAY', [null], fc.constant({ amount: 1, unit: 'hours' })) },
    { weight: 2, arbitrary: of('WAIT_FOR_EVENT', [null, 'timeout'], fc.constant({ eventName: 'never', timeout: 3_600 })) },
    { weight: 3, arbitrary: of('CONDITION', ['yes', 'no'], asked) },
    { weight: 1, arbitrary: of('CONDITION', ['gold', 'silver', 'default'], fc.constant(choice)) },
    { weight: 3, arbitrary: of('UPDATE_CONTACT', [null], fc.record({ updates: fc.record({ plan }), subscriptionAction })) },
    { weight: 1, arbitrary: of('EXIT', [], fc.constant({ reason: 'left' })) },
  )
}

/** How many of the next steps each branch leaves out; past the last step the execution ends. */
const targets = fc.array(fc.nat({ max: 2 }), { minLength: 3, maxLength: 3 })
const person = fc.record({
  subscribed: fc.boolean(),
  data: fc.oneof(
    plan.map((value) => ({ plan: value })),
    fc.constant({}),
  ),
  isSuppressed: fc.boolean(),
  code: fc.constantFrom('A', 'B', undefined),
})
type Person = typeof person extends fc.Arbitrary<infer Some> ? Some : never

type Visit = { stepId: string; status: string; output: { branch?: string; timedOut?: true; reason?: string } | null }
type Simulated = { stepId: string; branch: string | null; result: { skipped?: string } | null }

test('an execution takes the path that its simulation showed', { timeout: 300_000 }, async () => {
  const project = await newWorkflowProject(sterna)
  const worker = driveWorkflows(sterna.db, project.id)
  const from = `hello@${project.domain}`
  const templates: Templates = {
    plain: await project.template({ from }),
    consent: await project.template({ from, type: 'MARKETING' }),
    senderless: await project.template(),
  }
  let people = 0

  async function createWorkflow(given: { node: Node; to: number[] }[]) {
    const { id, version, steps } = await project.create({ eventName: 'start', allowReentry: true })
    const ids = given.map(() => newId())
    const transitions = given.flatMap(({ node, to }, index) =>
      node.branches.flatMap((branch, position) => {
        const toStepId = ids[index + 1 + to[position]!]
        return toStepId ? [{ fromStepId: ids[index], toStepId, branch }] : []
      }),
    )
    const answer = await project.call('PUT', `/workflows/${id}/graph`, {
      version,
      steps: given.map(({ node: { type, config } }, index) => ({ id: ids[index], type, config })),
      transitions: [{ fromStepId: steps[0].id, toStepId: ids[0] }, ...transitions],
    })
    expect([answer.status, answer.body.error]).toEqual([200, undefined])
    await project.call('PATCH', `/workflows/${id}`, { enabled: true })
    return id as string
  }

  async function createContact({ subscribed, data, isSuppressed }: Person) {
    const email = `s${++people}@example.com`
    const { id } = await project.contacts.create(email, { subscribed, data })
    if (isSuppressed) expect((await project.call('POST', '/suppressions', { address: email })).status).toBe(201)
    return id
  }

  async function run(workflowId: string, contactId: string, event: { name: string; data: object }) {
    await worker.record([{ ...event, contactId, data: event.data as Record<string, unknown> }])
    await worker.react()
    const read = () =>
      maybeOne(
        sterna.db,
        sql<{ id: string; status: string; exitReason: string | null }>`
          select id, status, exit_reason as "exitReason" from workflow_executions
          where project_id = ${project.id} and workflow_id = ${workflowId} and contact_id = ${contactId}
        `,
      )
    await worker.advance()
    let execution = await read()
    for (let pauses = 0; pauses < MAX_NODES && execution?.status === 'WAITING'; pauses++) {
      await worker.pass(PAUSE_SECONDS)
      await worker.advance()
      execution = await read()
    }
    const visits = await many(
      sterna.db,
      sql<Visit>`
        select step_id as "stepId", status, output from workflow_step_executions
        where project_id = ${project.id} and execution_id = ${execution!.id} order by visit
      `,
    )
    return {
      end: execution!.status,
      reason: execution!.exitReason,
      path: visits.map(({ stepId, status, output }) => ({
        stepId,
        branch: output?.branch ?? (output?.timedOut ? 'timeout' : null),
        skipped: status === 'SKIPPED' ? output?.reason : undefined,
      })),
    }
  }

  async function compare(given: { node: Node; to: number[] }[], persons: Person[]) {
    const workflowId = await createWorkflow(given)
    for (const each of persons) {
      const contactId = await createContact(each)
      const event = { name: 'start', data: each.code ? { code: each.code } : {} }
      const { status, body } = await project.call('POST', `/workflows/${workflowId}/simulate`, { contactId, event })
      expect([status, body.error]).toEqual([200, undefined])
      const path = body.path.map(({ stepId, branch, result }: Simulated) => ({ stepId, branch, skipped: result?.skipped }))
      expect(await run(workflowId, contactId, event)).toEqual({ end: body.end, reason: body.reason, path })
    }
    expect((await project.call('DELETE', `/workflows/${workflowId}`)).status).toBe(204)
  }

  const graph = fc.array(fc.record({ node: nodes(templates), to: targets }), { minLength: 2, maxLength: MAX_NODES })
  const persons = fc.array(person, { minLength: 2, maxLength: 3 })
  await fc.assert(fc.asyncProperty(graph, persons, compare), { numRuns: RUNS, endOnFailure: true })
})
