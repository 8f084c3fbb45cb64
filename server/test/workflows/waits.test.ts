import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many, one, transact } from '../../src/db/index.ts'
import { advanceExecutions, claimExecutions } from '../../src/workflows/executions/advance.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { driveWorkflows } from './driven-workflows.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useApp({ withWorker: false, env: { RATE_LIMIT_PER_MINUTE: '0' } })
let project: Awaited<ReturnType<typeof newWorkflowProject>>
let worker: ReturnType<typeof driveWorkflows>
beforeAll(async () => {
  project = await newWorkflowProject(sterna)
  worker = driveWorkflows(sterna.db, project.id)
})

let last = 0
const TIMEOUT = 30
/** A little more than the time after which a timeout is taken. */
const OVER = TIMEOUT + 7

const waitFor = (eventName: string, timeout: number | null = null) => ({ type: 'WAIT_FOR_EVENT', config: { eventName, timeout } })
const exit = (reason: string) => ({ type: 'EXIT', config: { reason } })

async function newContact() {
  const email = `waits${++last}@example.com`
  return { email, id: (await project.contacts.create(email)).id }
}

/** A workflow with a wait whose timeout leads to an EXIT "late". */
async function timed(eventName: string) {
  const { id, triggerId } = await project.line([], { eventName: `start ${++last}` })
  const wait = await project.addStep(id, waitFor(eventName, TIMEOUT))
  const [paid, late] = [await project.addStep(id, exit('paid')), await project.addStep(id, exit('late'))]
  await project.connect(id, triggerId, wait.id)
  await project.connect(id, wait.id, paid.id)
  await project.connect(id, wait.id, late.id, 'timeout')
  await project.call('PATCH', `/workflows/${id}`, { enabled: true })
  return { id, waitId: wait.id as string }
}

/** Starts the workflow for a new contact, which then waits. */
async function enter(workflowId: string) {
  const contact = await newContact()
  const { body } = await project.start(workflowId, contact.id)
  await worker.advance()
  return { contactId: contact.id, executionId: body.id as string, read: () => project.execution(workflowId, body.id) }
}

test('a wait for an event of a segment has more time for it to appear', async () => {
  const { body: segment } = await project.call('POST', '/segments', { name: 'Tracked', type: 'STATIC', trackMembership: true })
  const graces: number[] = []
  for (const name of ['paid', `segment.${segment.slug}.entry`]) {
    const { executionId } = await enter((await timed(name)).id)
    const grace = sql<{ s: number }>`
      select extract(epoch from due_at - deadline_at)::int as s from workflow_executions where project_id = ${project.id} and id = ${executionId}`
    graces.push((await one(sterna.db, grace)).s)
  }
  expect(graces).toEqual([6, 30])
})

describe('two events of one name', () => {
  test.each([
    ['in one transaction', async (events: object[]) => void (await worker.record(events as never))],
    [
      'in two transactions, handled together',
      async (events: object[]) => {
        for (const event of events) await worker.record([event] as never)
      },
    ],
  ])('%s end two waits, in order', async (_, record) => {
    const name = `B${++last}`
    const { id } = await project.line([waitFor(name), waitFor(name), exit('end')])
    const { contactId, read } = await enter(id)
    await record([1, 2].map((n) => ({ name, contactId, data: { n } })))
    await worker.react()
    await worker.advance()
    const execution = await read()
    expect(execution).toMatchObject({ status: 'EXITED', context: { lastEvent: { data: { n: 2 } } } })
    expect(execution.stepExecutions.slice(1, 3)).toMatchObject([
      { output: { event: { data: { n: 1 } } } },
      { output: { event: { data: { n: 2 } } } },
    ])
  })

  test('both before the execution comes to its wait: the first of them ends it', async () => {
    const name = `B${++last}`
    const { id } = await project.line([waitFor(`go ${name}`), waitFor(name), exit('end')])
    const { contactId, read } = await enter(id)
    await worker.record([{ name: `go ${name}`, contactId }])
    for (const n of [1, 2]) await worker.record([{ name, contactId, data: { n } }])
    await worker.react()
    await worker.advance()
    expect(await read()).toMatchObject({ status: 'EXITED', context: { lastEvent: { name, data: { n: 1 } } } })
  })
})

describe('a timeout', () => {
  test('is not taken if an event happened in time, although its reaction was not handled', async () => {
    const { id } = await timed('A')
    const { contactId, read } = await enter(id)
    await worker.record([{ name: 'A', contactId, data: { n: 1 } }])
    await worker.pass(OVER)
    await worker.advance()
    expect(await read()).toMatchObject({ exitReason: 'paid', context: { lastEvent: { data: { n: 1 } } } })
  })

  test('is taken if the first event came after the deadline, in whatever order a worker comes to them', async () => {
    const { id } = await timed('A')
    const { contactId, read } = await enter(id)
    await worker.pass(TIMEOUT + 1)
    await worker.record([{ name: 'A', contactId }])
    await worker.react()
    await worker.advance()
    expect(await read()).toMatchObject({ status: 'WAITING' })
    await worker.pass(OVER)
    await worker.advance()
    expect(await read()).toMatchObject({ exitReason: 'late' })
  })
})

test('an event that is handled while the execution comes to its wait is not missed', async () => {
  const name = `B${++last}`
  const { id } = await project.line([waitFor(name), exit('end')])
  const contact = await newContact()
  const { body } = await project.start(id, contact.id)
  let reacting: Promise<unknown> = Promise.resolve()
  await transact(sterna.db, async (tx) => {
    await advanceExecutions(tx, project.id, await claimExecutions(tx, project.id, 10))
    // The wait has asked for the event, and is not committed yet.
    await worker.record([{ name, contactId: contact.id }])
    reacting = worker.react()
    const isBlocked = async () =>
      expect(await many(sterna.db, sql`select 1 from pg_locks where not granted and locktype = 'transactionid'`)).toHaveLength(1)
    await Promise.race([reacting, eventually(isBlocked)])
  })
  await reacting
  await worker.advance()
  expect(await project.execution(id, body.id)).toMatchObject({ status: 'EXITED' })
})

describe('a loop that waits for its own email', () => {
  test('ends after 20 emails in an hour, and is listed as a problem', async () => {
    const templateId = await project.template({ from: `hello@${project.domain}` })
    const { id, steps } = await project.line([{ type: 'SEND_EMAIL', config: { templateId } }, waitFor('email.sent', 3_600)])
    await project.connect(id, steps[1]!, steps[0]!)
    expect((await project.get(id)).problems).toMatchObject([{ stepId: steps[1], code: 'loop_without_pause' }])
    const { contactId, executionId, read } = await enter(id)
    const emails = () =>
      many(sterna.db, sql`select 1 from emails where project_id = ${project.id} and workflow_execution_id = ${executionId}`)
    const go = async (rounds: number) => {
      for (let n = 0; n < rounds; n++) {
        await worker.record([{ name: 'email.sent', contactId }])
        await worker.react()
        await worker.advance()
      }
    }
    await go(2)
    expect(await emails()).toHaveLength(3)
    // Emails of another hour do not count.
    await sql`update emails set created_at = created_at - interval '61 minutes' where project_id = ${project.id}`.execute(sterna.db)
    await go(20)
    expect([(await emails()).length, (await read()).status]).toEqual([23, 'WAITING'])
    await go(1)
    expect(await emails()).toHaveLength(23)
    expect(await read()).toMatchObject({ status: 'FAILED', exitReason: 'too_many_emails' })
  })

  test('of one minute fails in a simulation too', async () => {
    const templateId = await project.template({ from: `hello@${project.domain}` })
    const minute = { type: 'DELAY', config: { amount: 1, unit: 'minutes' } }
    const { id, steps } = await project.line([{ type: 'SEND_EMAIL', config: { templateId } }, minute])
    await project.connect(id, steps[1]!, steps[0]!)
    const { body } = await project.call('POST', `/workflows/${id}/simulate`, { contact: {} })
    expect(body).toMatchObject({ end: 'FAILED', reason: 'too_many_emails' })
    expect(body.path.filter(({ type }: { type: string }) => type === 'SEND_EMAIL')).toHaveLength(21)
    expect((await project.get(id)).problems).toEqual([])
  })
})

test('events that executions have not come to yet do not make their rows larger', async () => {
  const names = Array.from({ length: 8 }, (_, n) => `large${n} ${++last}`)
  const { id } = await project.line([waitFor('never'), ...names.map((name) => waitFor(name))])
  const { contactId, executionId } = await enter(id)
  const data = { text: 'x'.repeat(31_000) }
  await worker.record(names.map((name) => ({ name, contactId, data })))
  await worker.react()
  await worker.advance()
  const { bytes } = await one(
    sterna.db,
    sql<{ bytes: number }>`select octet_length(e::text) as bytes from workflow_executions e where e.id = ${executionId}`,
  )
  expect(bytes).toBeLessThan(2_000)
})
