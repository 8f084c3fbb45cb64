import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { connect, one, transact } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { dropOldExecutions } from '../../src/workflows/executions/erase.ts'
import { workflowLedger } from '../../src/workflows/executions/figures.ts'
import { listVisits } from '../../src/workflows/insight/visits.ts'
import { issues, outcome } from '../support/answers.ts'
import { type Answer, useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
type Project = Awaited<ReturnType<typeof newWorkflowProject>>
type Visit = Answer['body']
let project: Project
let flow: Awaited<ReturnType<typeof newFlow>>
beforeAll(async () => {
  project = await newWorkflowProject(sterna)
  flow = await newFlow(project)
})

const FIGURES = ['entered', 'waiting', 'completed', 'skipped', 'failed', 'cancelled'] as const
type Figures = Record<(typeof FIGURES)[number], number>
const NONE: Figures = { entered: 0, waiting: 0, completed: 0, skipped: 0, failed: 0, cancelled: 0 }

const newIds = () => ({ mail: randomUUID(), ask: randomUUID(), broken: randomUUID(), pause: randomUUID() })

/** An email that unsubscribed contacts are spared; then an email that fails for the plan pro, for others a pause of a day and all over again. */
async function newFlow(of: Project, ids = newIds()) {
  const { id, version, steps } = await of.create({ triggerType: 'MANUAL', allowReentry: true })
  const [templateId, unsent] = [await of.template({ type: 'MARKETING', from: `hello@${of.domain}` }), await of.template()]
  const { mail, ask, broken, pause } = ids
  const arrow = (fromStepId: string, toStepId: string, branch?: string) => ({ fromStepId, toStepId, ...(branch && { branch }) })
  const answer = await of.call('PUT', `/workflows/${id}/graph`, {
    version,
    steps: [
      { id: mail, type: 'SEND_EMAIL', config: { templateId } },
      { id: ask, type: 'CONDITION', config: { field: 'data.plan', operator: 'equals', value: 'pro' } },
      { id: broken, type: 'SEND_EMAIL', config: { templateId: unsent } },
      { id: pause, type: 'DELAY', config: { amount: 1, unit: 'days' } },
    ],
    transitions: [arrow(steps[0].id, mail), arrow(mail, ask), arrow(ask, broken, 'yes'), arrow(ask, pause, 'no'), arrow(pause, mail)],
  })
  expect(outcome(answer)).toEqual([200])
  await of.call('PATCH', `/workflows/${id}`, { enabled: true })
  return { id: id as string, triggerId: steps[0].id as string, ids }
}

let people = 0
/** Starts a contact and waits until it has come to its pause, or has failed. */
async function enter(of: Project, id: string, more: object = {}) {
  const contact = await of.contacts.create(`visitor${++people}@example.com`, more)
  const { body } = await of.start(id, contact.id)
  await settled(of, id, body.id)
  return { contactId: contact.id as string, executionId: body.id as string }
}
const settled = (of: Project, id: string, executionId: string) =>
  eventually(async () => {
    const { status, stepExecutions } = await of.execution(id, executionId)
    expect(['WAITING', 'FAILED', 'CANCELLED']).toContain(status)
    return stepExecutions.length as number
  })

const list = (of: Project, id: string, stepId: string, query = '') => of.call('GET', `/workflows/${id}/steps/${stepId}/visits?${query}`)

/** All visits of a step, in pages of two: newest first, each once, and as many as the first page says. */
async function visits(of: Project, id: string, stepId: string, figure: string = 'entered'): Promise<Visit[]> {
  const filter = `limit=2${figure === 'entered' ? '' : `&outcome=${figure}`}`
  const first = (await list(of, id, stepId, filter)).body
  const found: Visit[] = first.data
  for (let page = first; page.hasMore; found.push(...page.data)) page = (await list(of, id, stepId, `${filter}&cursor=${page.cursor}`)).body
  const ids = found.map((visit) => visit.id as string)
  expect(ids).toEqual([...new Set(ids)].sort().reverse())
  expect(first.total).toBe(found.length)
  return found
}

/** The figures of the steps, each of which is the number of visits in its list. */
async function addedUp(of: Project, id: string): Promise<Record<string, Figures>> {
  const { steps } = await of.stats(id)
  const counted: Record<string, Figures> = {}
  for (const step of steps) {
    const lengths = await Promise.all(FIGURES.map(async (figure) => [figure, (await visits(of, id, step.stepId, figure)).length] as const))
    expect(Object.fromEntries(lengths)).toEqual(Object.fromEntries(FIGURES.map((figure) => [figure, step[figure]])))
    counted[step.stepId] = Object.fromEntries(lengths) as Figures
  }
  return counted
}

const drop = () => transact(sterna.db, (tx) => dropOldExecutions(tx, { months: 2, limit: 100 }))
const age = (executionId: string) =>
  sql`update workflow_executions set completed_at = now() - interval '3 months' where id = ${executionId}`.execute(sterna.db)
const addUp = () => workflowLedger.fold(sterna.db)
const compareAll = () => workflowLedger.repair(sterna.db, project.id)

test('each figure of a step is the number of visits in its list, also after executions were deleted by age', async () => {
  const { id, triggerId } = flow
  const { mail, ask, broken, pause } = flow.ids
  const failing = await enter(project, id, { data: { plan: 'pro' } })
  const looping = await enter(project, id, { subscribed: false })
  const cancelled = await enter(project, id)
  const deleted = await enter(project, id)
  await project.elapse(looping.executionId)
  await eventually(async () => expect(await settled(project, id, looping.executionId)).toBe(7))
  await project.call('DELETE', `/workflows/${id}/executions/${cancelled.executionId}`)
  await project.call('DELETE', `/contacts/${deleted.contactId}`)
  await eventually(async () => expect((await project.execution(id, deleted.executionId)).status).toBe('CANCELLED'))

  const counted = {
    [triggerId]: { ...NONE, entered: 4, completed: 4 },
    [mail]: { ...NONE, entered: 5, completed: 3, skipped: 2 },
    [ask]: { ...NONE, entered: 5, completed: 5 },
    [broken]: { ...NONE, entered: 1, failed: 1 },
    [pause]: { ...NONE, entered: 4, completed: 1, waiting: 1, cancelled: 2 },
  }
  expect(await addedUp(project, id)).toEqual(counted)
  expect((await list(project, id, pause, 'outcome=waiting,cancelled')).body).toMatchObject({ total: 3, hasMore: false })
  const stats = await project.stats(id)
  await addUp()
  await compareAll()
  expect(await project.stats(id)).toEqual(stats)

  const only = async (stepId: string, figure: string) => (await visits(project, id, stepId, figure))[0]
  expect(await only(broken, 'failed')).toMatchObject({
    executionId: failing.executionId,
    contactId: failing.contactId,
    contact: { id: failing.contactId },
    stepId: broken,
    visit: 4,
    status: 'FAILED',
    reason: 'no_sender',
    error: 'no_sender',
    completedAt: expect.any(String),
  })
  expect(await only(mail, 'completed')).toMatchObject({ outcome: 'completed', reason: null, emailId: expect.any(String) })
  expect(await only(mail, 'skipped')).toMatchObject({ status: 'SKIPPED', outcome: 'skipped', reason: 'unsubscribed', error: null })
  expect(await only(pause, 'waiting')).toMatchObject({ completedAt: null, scheduledFor: expect.any(String), visit: 7 })
  expect(await only(pause, 'cancelled')).toMatchObject({
    status: 'SKIPPED',
    outcome: 'cancelled',
    reason: 'contact_deleted',
    contactId: deleted.contactId,
    contact: null,
  })
  expect((await project.execution(id, deleted.executionId)).stepExecutions.at(-1)).toMatchObject({
    status: 'SKIPPED',
    outcome: 'cancelled',
  })

  const { transitions, started } = stats
  await age(failing.executionId)
  await age(deleted.executionId)
  expect(await drop()).toBe(2)
  const kept = {
    [triggerId]: { ...NONE, entered: 2, completed: 2 },
    [mail]: { ...NONE, entered: 3, completed: 1, skipped: 2 },
    [ask]: { ...NONE, entered: 3, completed: 3 },
    [broken]: NONE,
    [pause]: { ...NONE, entered: 3, completed: 1, waiting: 1, cancelled: 1 },
  }
  expect(await addedUp(project, id)).toEqual(kept)
  expect(await project.stats(id)).toMatchObject({ transitions, started, executions: 2 })
  await addUp()

  // As a node of the release before does it, which takes nothing back.
  await sql`delete from workflow_step_executions where execution_id = ${cancelled.executionId}`.execute(sterna.db)
  expect((await project.stats(id)).steps.find(({ stepId }: { stepId: string }) => stepId === mail)).toMatchObject({
    entered: 3,
    completed: 1,
  })
  await compareAll()
  const { [triggerId]: atTrigger, [mail]: atMail } = await addedUp(project, id)
  expect([atTrigger, atMail]).toEqual([
    { ...NONE, entered: 1, completed: 1 },
    { ...NONE, entered: 2, skipped: 2 },
  ])
  expect(await project.stats(id)).toMatchObject({ transitions, started })
})

test('a page goes on where the one before ended, whatever is inserted meanwhile', async () => {
  const { id, triggerId, ids } = await newFlow(project)
  const enterSome = async (count: number) => {
    const entered: string[] = []
    for (let n = 0; n < count; n++) entered.unshift((await enter(project, id)).executionId)
    return entered
  }
  const older = await enterSome(5)
  const query = 'limit=2&outcome=completed,waiting'
  const executionsOf = ({ body }: Answer) => body.data.map((visit: Visit) => visit.executionId)
  const first = await list(project, id, triggerId, query)
  expect([executionsOf(first), first.body.total, first.body.hasMore]).toEqual([older.slice(0, 2), 5, true])
  const newer = await enterSome(1)
  const second = await list(project, id, triggerId, `${query}&cursor=${first.body.cursor}`)
  expect([executionsOf(second), second.body.total]).toEqual([older.slice(2, 4), 0])
  const third = await list(project, id, triggerId, `${query}&cursor=${second.body.cursor}`)
  expect([executionsOf(third), third.body.hasMore, third.body.cursor]).toEqual([older.slice(4), false, null])
  expect(executionsOf(await list(project, id, triggerId, query))).toEqual([...newer, older[0]])
  for (const [stepId, filter] of [
    [triggerId, 'limit=2'],
    [ids.mail, query],
  ] as const)
    expect(outcome(await list(project, id, stepId, `${filter}&cursor=${first.body.cursor}`))).toEqual([400, 'BAD_REQUEST'])
})

test('visits of a step with the same id in another project are not listed', async () => {
  const other = await newWorkflowProject(sterna)
  const mine = await newFlow(project)
  const theirs = await newFlow(other, mine.ids)
  const { mail } = mine.ids
  const { executionId } = await enter(project, mine.id)
  await enter(other, theirs.id, { data: { plan: 'pro' } })
  await enter(other, theirs.id)
  const mailed = (await visits(project, mine.id, mail)).map((visit) => visit.executionId)
  expect(mailed).toEqual([executionId])
  expect(await visits(other, theirs.id, mail)).toHaveLength(2)
  for (const id of [theirs.id, randomUUID(), 'x']) expect(outcome(await list(project, id, mail))).toEqual([404, 'WORKFLOW_NOT_FOUND'])
})

test('an unknown step is not found, and bad input is refused', async () => {
  const { id, ids } = await newFlow(project)
  for (const stepId of [randomUUID(), 'x', id]) expect(outcome(await list(project, id, stepId))).toEqual([404, 'RESOURCE_NOT_FOUND'])
  expect((await list(project, id, ids.mail)).body).toEqual({ data: [], cursor: null, hasMore: false, total: 0 })
  for (const filter of ['outcome=entered', 'outcome=', 'outcome=failed,x']) {
    const answer = await list(project, id, ids.mail, filter)
    expect([answer.status, issues(answer)]).toEqual([422, [[expect.stringMatching(/^outcome\.\d$/), 'invalid_enum_value']]])
  }
  expect((await list(project, id, ids.mail.toUpperCase(), 'limit=0&cursor=')).status).toBe(200)
})

test('a total beyond 10,000 is the figure of the step', async () => {
  const { id, ids } = await newFlow(project)
  const { broken } = ids
  const { executionId } = await enter(project, id)
  await sql`
    insert into workflow_step_executions (project_id, execution_id, visit, id, workflow_id, step_id, status, completed_at)
    select ${project.id}, ${executionId}, 1000 + n, gen_random_uuid(), ${id}, ${broken}, 'FAILED', now() from generate_series(1, 10001) n
  `.execute(sterna.db)
  await sql`
    insert into workflow_tallies (project_id, workflow_id, subject_id, kind, n)
    values (${project.id}, ${id}, ${broken}, 'entered', 30000), (${project.id}, ${id}, ${broken}, 'failed', 20000)
  `.execute(sterna.db)
  const total = async (filter = '') => (await list(project, id, broken, `limit=1${filter}`)).body.total
  expect([await total(), await total('&outcome=failed'), await total('&outcome=waiting,skipped')]).toEqual([30_000, 20_000, 0])
})

test('a rare outcome is found without reading the other visits, also in a project that is newer than the statistics', async () => {
  await sql`analyze workflow_step_executions`.execute(sterna.db)
  const newer = await newWorkflowProject(sterna)
  const { id, ids } = await newFlow(newer)
  const { executionId } = await enter(newer, id, { data: { plan: 'pro' } })
  await sql`
    insert into workflow_step_executions (project_id, execution_id, visit, id, workflow_id, step_id, status, completed_at)
    select ${newer.id}, ${executionId}, 1000 + n, gen_random_uuid(), ${id}, ${ids.broken}, 'COMPLETED', now() from generate_series(1, 3000) n
  `.execute(sterna.db)
  // One connection, so that its statistics can be read.
  const session = connect({ url: sterna.url, max: 1, log: createLog('silent') })
  const rowsRead = async () => {
    await sql`select pg_stat_force_next_flush()`.execute(session)
    const { n } = await one(
      session,
      sql<{ n: number }>`
        select (seq_tup_read + idx_tup_fetch)::int as n from pg_stat_user_tables where relname = 'workflow_step_executions'`,
    )
    return n
  }
  const before = await rowsRead()
  const step = { projectId: newer.id, workflowId: id, stepId: ids.broken }
  const page = await listVisits(session, sterna.secrets, step, { limit: 10, cursor: undefined, outcome: ['failed'] })
  const read = (await rowsRead()) - before
  await session.destroy()
  expect(page).toMatchObject({ data: [{ executionId, reason: 'no_sender' }], total: 1 })
  expect(read).toBeLessThan(100)
})
