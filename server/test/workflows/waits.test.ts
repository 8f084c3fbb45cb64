import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { useApp } from '../support/app.ts'
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

test('events that executions have not come to yet do not make their rows larger', async () => {
  const names = Array.from({ length: 40 }, (_, n) => `large${n} ${++last}`)
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
