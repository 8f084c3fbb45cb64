import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { recordEvents } from '../../src/events/record.ts'
import { dropOldWorkflowDays } from '../../src/workflows/executions/days.ts'
import { workflowLedger } from '../../src/workflows/executions/figures.ts'
import { issues } from '../support/answers.ts'
import { type Answer, useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useSharedApp()
let project: Awaited<ReturnType<typeof newWorkflowProject>>
beforeAll(async () => {
  project = await newWorkflowProject(sterna)
})

let names = 0
const newAddress = () => `edge${++names}@example.com`
const newContact = (more: object = {}) => project.contacts.create(newAddress(), more)
const newEvent = () => `event-${++names}`
const exit = (reason: string) => ({ type: 'EXIT', config: { reason } })
const delay = { type: 'DELAY', config: { amount: 1, unit: 'days' } }
const updateContact = { type: 'UPDATE_CONTACT', config: { data: { done: true } } }
const sendEmail = (templateId: string) => ({ type: 'SEND_EMAIL', config: { templateId } })
const sendingTemplate = (more: object = {}) => project.template({ from: `hello@${project.domain}`, ...more })
const stepsOf = ({ stepExecutions }: Answer['body']) =>
  stepExecutions.map(({ step, status }: { step: { type: string } | null; status: string }) => `${step?.type} ${status}`)
const emailsOf = (executionId: string) =>
  many(sterna.db, sql`select id from emails where project_id = ${project.id} and workflow_execution_id = ${executionId}`)

describe('an execution', () => {
  test('keeps the graph that it started with, and what that graph uses', async () => {
    const templateId = await sendingTemplate()
    const { id, steps } = await project.line([delay, sendEmail(templateId), exit('old')])
    const contact = await newContact()
    await project.start(id, contact.id)
    const { id: executionId, version } = await project.waiting(id)
    expect((await project.call('DELETE', `/workflows/${id}/steps/${steps[1]}?splice=true`)).status).toBe(204)
    await project.call('PATCH', `/workflows/${id}/steps/${steps[2]}`, { config: { reason: 'new' } })
    expect((await project.get(id)).version).toBeGreaterThan(version)
    expect((await project.call('DELETE', `/templates/${templateId}`)).status).toBe(409)
    await project.elapse(executionId)
    const execution = await project.ended(id)
    expect([execution.exitReason, stepsOf(execution)]).toEqual([
      'old',
      ['TRIGGER COMPLETED', 'DELAY COMPLETED', 'SEND_EMAIL COMPLETED', 'EXIT COMPLETED'],
    ])
    expect((await project.call('DELETE', `/templates/${templateId}`)).status).toBe(204)
  })

  test('that goes round in circles fails after 1,000 steps', async () => {
    const { id, steps } = await project.line([delay, { type: 'UPDATE_CONTACT', config: { data: { round: 1 } } }])
    expect((await project.connect(id, steps[1]!, steps[0]!)).status).toBe(201)
    await project.start(id, (await newContact()).id)
    const { id: executionId } = await project.waiting(id)
    await sql`update workflow_executions set visits = 998, due_at = now() where id = ${executionId}`.execute(sterna.db)
    const visits = async () => (await project.execution(id, executionId)).stepExecutions.at(-1).visit
    await eventually(async () => expect(await visits()).toBe(1_000))
    await project.elapse(executionId)
    expect(await project.ended(id)).toMatchObject({ status: 'FAILED', exitReason: 'too_many_steps' })
  })

  test('of a contact starts at most 20 times in an hour, and refusals are recorded', async () => {
    const eventName = newEvent()
    const { id } = await project.line([exit('done')], { eventName, allowReentry: true })
    const { id: contactId, email } = await newContact()
    const { version } = await project.get(id)
    await sql`
      insert into workflow_executions (project_id, id, workflow_id, version, contact_id, status, due_at, completed_at)
      select ${project.id}, gen_random_uuid(), ${id}, ${version}, ${contactId}, 'EXITED', null, now() from generate_series(1, 20)
    `.execute(sterna.db)
    await project.track({ email, event: eventName })
    await eventually(async () => expect((await project.explain(id, contactId)).refusals).toMatchObject([{ reason: 'too_many', count: 1 }]))
    expect(await project.explain(id, contactId)).toMatchObject({ reason: 'too_many', canEnter: false, isActive: false })
    expect(await project.start(id, contactId)).toMatchObject({ status: 409, body: { error: { details: { reason: 'too_many' } } } })
    await sql`update workflow_executions set created_at = now() - interval '61 minutes' where workflow_id = ${id}`.execute(sterna.db)
    expect((await project.start(id, contactId)).status).toBe(201)
  })

  test('of a disabled project waits, and goes on afterwards', async () => {
    const other = await newWorkflowProject(sterna)
    const run = async (of: typeof project) => {
      const { id } = await of.line([delay, exit('done')])
      await of.start(id, (await of.contacts.create(newAddress())).id)
      return { id, executionId: (await of.waiting(id)).id as string }
    }
    const [held, free] = [await run(other), await run(project)]
    const setDisabled = (disabled: boolean) => sql`update projects set disabled = ${disabled} where id = ${other.id}`.execute(sterna.db)
    await setDisabled(true)
    await other.elapse(held.executionId)
    await project.elapse(free.executionId)
    expect(await project.ended(free.id)).toMatchObject({ exitReason: 'done' })
    expect(await other.execution(held.id, held.executionId)).toMatchObject({ status: 'WAITING' })
    await setDisabled(false)
    expect(await other.ended(held.id)).toMatchObject({ exitReason: 'done' })
  })

  test('that cannot be advanced ends after some attempts, and its step is no longer counted as open', async () => {
    const { id } = await project.line([delay, exit('done')])
    await project.start(id, (await newContact()).id)
    const { id: executionId } = await project.waiting(id)
    // No graph has this version.
    await sql`update workflow_executions set version = 99, attempts = 11, due_at = now() where id = ${executionId}`.execute(sterna.db)
    expect(await project.ended(id)).toMatchObject({ status: 'FAILED', exitReason: 'internal_error' })
    expect((await project.stats(id)).steps[1]).toMatchObject({ entered: 1, failed: 1, waiting: 0 })
  })

  test('that cannot be advanced from a step that never began records the failed visit', async () => {
    const { id, steps } = await project.line([delay, exit('done')])
    await project.start(id, (await newContact()).id)
    const { id: executionId } = await project.waiting(id)
    // As after the delay, with the exit to come. No graph has this version.
    await sql`
      with over as (
        update workflow_step_executions set status = 'COMPLETED', completed_at = now() where execution_id = ${executionId} and completed_at is null
      )
      update workflow_executions set status = 'RUNNING', current_step_id = ${steps[1]}, version = 99, attempts = 11, due_at = now()
      where id = ${executionId}
    `.execute(sterna.db)
    const { stepExecutions, ...ended } = await project.ended(id)
    expect(ended).toMatchObject({ status: 'FAILED', exitReason: 'internal_error' })
    expect(stepExecutions).toHaveLength(3)
    expect(stepExecutions[2]).toMatchObject({ stepId: steps[1], status: 'FAILED', error: 'internal_error' })
    expect((await project.stats(id)).steps[2]).toMatchObject({ entered: 1, failed: 1, waiting: 0 })
  })

  test('is filtered by status, step and contact', async () => {
    const { id, steps } = await project.line([delay, exit('done')], { allowReentry: true })
    const [ada, bob] = [await newContact(), await newContact()]
    await project.start(id, ada.id)
    const first = await project.waiting(id)
    await project.elapse(first.id)
    await project.ended(id)
    await project.start(id, ada.id)
    await project.start(id, bob.id)
    const found = async (query: string) =>
      (await project.executions(id, query)).map(({ contactId }) => (contactId === ada.id ? 'ada' : 'bob'))
    await eventually(async () => expect(await found('?status=WAITING')).toEqual(['bob', 'ada']))
    expect(await found(`?contactId=${ada.id}`)).toEqual(['ada', 'ada'])
    expect(await found(`?stepId=${steps[1]}`)).toEqual(['ada'])
    expect(await found(`?stepId=${steps[0]}&contactId=${bob.id}`)).toEqual(['bob'])
    const { body } = await project.call('GET', `/workflows/${id}/executions?pageSize=2&page=2`)
    expect(body).toMatchObject({ total: 3, page: 2, pageSize: 2, totalPages: 2, executions: [{ id: first.id, contact: { id: ada.id } }] })
  })
})

describe('starting by request', () => {
  test('is refused for an unknown contact, and for one that may not enter', async () => {
    const { id } = await project.line([delay])
    const { id: contactId } = await newContact()
    expect(await project.start(id, '01a1dcfd-a0ed-7c62-842e-8c4228b384bc')).toMatchObject({
      status: 404,
      body: { error: { code: 'CONTACT_NOT_FOUND' } },
    })
    const answer = await project.start(id, contactId, { source: 'web', email: 'reserved@example.com' })
    expect([answer.status, answer.body.context]).toEqual([201, { source: 'web' }])
    const refusal = async () => (await project.start(id, contactId)).body.error?.details
    expect(await refusal()).toEqual({ reason: 'active' })
    await project.call('POST', `/workflows/${id}/executions/cancel-all`)
    expect(await refusal()).toEqual({ reason: 'reentry' })
  })

  test('and deleting the workflow at the same moment do not both succeed', async () => {
    const { id } = await project.line([delay])
    const { id: contactId } = await newContact()
    let deleted: Answer | undefined
    const inserted = { on: 'insert' as const, table: 'workflow_executions', when: sql`new.contact_id = ${sql.lit(contactId)}` }
    const { starting } = await whileSleeping(sterna.db, inserted, async () => ({
      started: { starting: project.start(id, contactId) },
      meanwhile: async () => {
        deleted = await project.call('DELETE', `/workflows/${id}`)
      },
    }))
    expect([(await starting).status, deleted!.status]).toEqual([201, 409])
  })
})

describe('a template or segment', () => {
  test.each([
    ['template', async () => `/templates/${await sendingTemplate()}`, (id: string) => sendEmail(id)],
    [
      'segment',
      async () => `/segments/${(await project.call('POST', '/segments', { name: 'S', type: 'STATIC' })).body.id}`,
      (id: string) => ({ type: 'CONDITION', config: { field: `segment.${id}`, operator: 'memberOfSegment' } }),
    ],
  ])('is not deleted while a step with the %s is being added', async (_, create, stepWith) => {
    const path = await create()
    const { id } = await project.create()
    let deleted: Answer | undefined
    const inserted = { on: 'insert' as const, table: 'workflow_graphs', when: sql`new.workflow_id = ${sql.lit(id)}` }
    const { adding } = await whileSleeping(sterna.db, inserted, async () => ({
      started: { adding: project.call('POST', `/workflows/${id}/steps`, stepWith(path.split('/')[2]!)) },
      meanwhile: async () => {
        deleted = await project.call('DELETE', path)
      },
    }))
    expect([(await adding).status, deleted!.status]).toEqual([201, 409])
  })

  test('that is gone ends the execution with the reason', async () => {
    const templateId = await sendingTemplate()
    const { id: segmentId } = (await project.call('POST', '/segments', { name: 'Gone', type: 'STATIC' })).body
    const condition = { type: 'CONDITION', config: { field: `segment.${segmentId}`, operator: 'memberOfSegment' } }
    const [mailing, asking] = [await project.line([sendEmail(templateId)]), await project.line([condition])]
    await sql`delete from templates where id = ${templateId}`.execute(sterna.db)
    await sql`delete from segments where id = ${segmentId}`.execute(sterna.db)
    const { id: contactId } = await newContact()
    for (const { id } of [mailing, asking]) await project.start(id, contactId)
    expect(await project.ended(mailing.id)).toMatchObject({ status: 'FAILED', exitReason: 'template_deleted' })
    expect(await project.ended(asking.id)).toMatchObject({ status: 'FAILED', exitReason: 'segment_deleted' })
    expect((await project.get(mailing.id)).problems).toMatchObject([{ code: 'template_missing', stepId: mailing.steps[0] }])
    expect((await project.get(asking.id)).problems).toMatchObject([{ code: 'segment_missing', stepId: asking.steps[0] }])
  })
})

describe('an email step', () => {
  test('sends one email for each visit, and none when a visit is repeated', async () => {
    const { id, steps } = await project.line([sendEmail(await sendingTemplate()), delay])
    await project.connect(id, steps[1]!, steps[0]!)
    await project.start(id, (await newContact()).id)
    const { id: executionId } = await project.waiting(id)
    await project.elapse(executionId)
    await eventually(async () => expect(await emailsOf(executionId)).toHaveLength(2))
    const waiting = await project.waiting(id)
    expect(new Set(waiting.stepExecutions.map(({ emailId }: { emailId: string }) => emailId).filter(Boolean)).size).toBe(2)
    // As if the commit of the last visit had been lost, but not its rows.
    await sql`
      update workflow_executions set status = 'RUNNING', current_step_id = ${steps[0]}, visits = ${waiting.stepExecutions.at(-1).visit - 2}, due_at = now()
      where id = ${executionId}
    `.execute(sterna.db)
    await eventually(async () => {
      const [row] = await many(sterna.db, sql<{ attempts: number }>`select attempts from workflow_executions where id = ${executionId}`)
      expect(row!.attempts).toBeGreaterThan(0)
    })
    expect(await emailsOf(executionId)).toHaveLength(2)
  })

  test('is skipped for a suppressed address', async () => {
    const { id } = await project.line([sendEmail(await sendingTemplate())])
    const { id: contactId, email } = await newContact()
    await project.call('POST', '/suppressions', { address: email })
    await project.start(id, contactId)
    const execution = await project.ended(id)
    expect(execution).toMatchObject({ status: 'COMPLETED', stepExecutions: [{}, { status: 'SKIPPED', output: { reason: 'suppressed' } }] })
    expect(await emailsOf(execution.id)).toEqual([])
  })

  test.each([
    { state: 'that is also unsubscribed', stored: '', reason: 'suppressed' },
    { state: 'without its template', stored: '', reason: 'suppressed', isDeleted: true },
    { state: 'that is no address', stored: 'no-address', reason: 'invalid' },
  ])('is skipped for a suppressed contact $state, in the simulation too', async ({ stored, reason, isDeleted = false }) => {
    const templateId = await sendingTemplate({ type: 'MARKETING' })
    const { id } = await project.line([sendEmail(templateId)])
    const { id: contactId, email } = await newContact({ subscribed: false })
    await project.call('POST', '/suppressions', { address: email })
    if (stored) await sql`update contacts set email = ${stored} where project_id = ${project.id} and id = ${contactId}`.execute(sterna.db)
    if (isDeleted) await sql`delete from templates where project_id = ${project.id} and id = ${templateId}`.execute(sterna.db)
    const { body } = await project.call('POST', `/workflows/${id}/simulate`, { contactId })
    expect(body).toMatchObject({ end: 'COMPLETED', path: [{}, { result: { skipped: reason } }] })
    await project.start(id, contactId)
    expect(await project.ended(id)).toMatchObject({ status: 'COMPLETED', stepExecutions: [{}, { status: 'SKIPPED', output: { reason } }] })
  })

  test('waits for a domain that is not verified, for a day', async () => {
    const own = await newWorkflowProject(sterna)
    const templateId = await own.template({ from: `hello@${own.domain}` })
    const verify = sql`update domains set status = 'verified', verified_by = 'dns', verified_at = now() where project_id = ${own.id}`
    await sql`
      update domains set status = 'pending', verified_by = null, verified_at = null, next_check_at = 'infinity' where project_id = ${own.id}
    `.execute(sterna.db)
    const [patient, late] = [await own.line([sendEmail(templateId)]), await own.line([sendEmail(templateId)])]
    const { id: contactId } = await own.contacts.create(newAddress())
    for (const { id } of [patient, late]) await own.start(id, contactId)
    const [first, second] = [await own.waiting(patient.id), await own.waiting(late.id)]
    expect(first.stepExecutions[1]).toMatchObject({ status: 'WAITING', output: { reason: 'domain_not_verified' } })
    await sql`update workflow_executions set deadline_at = now(), due_at = now() where id = ${second.id}`.execute(sterna.db)
    expect(await own.ended(late.id)).toMatchObject({ status: 'FAILED', exitReason: 'domain_not_verified' })
    await verify.execute(sterna.db)
    await own.elapse(first.id)
    expect(await own.ended(patient.id)).toMatchObject({ status: 'COMPLETED', stepExecutions: [{}, { emailId: expect.any(String) }] })
  })
})

describe('opens and clicks', () => {
  test('of machines neither start nor continue a workflow', async () => {
    const { id: contactId } = await newContact()
    const wait = { type: 'WAIT_FOR_EVENT', config: { eventName: 'email.click', timeout: 3_600 } }
    const { id } = await project.line([wait, exit('clicked')], { eventName: 'email.open' })
    const record = (name: string, machine: boolean) =>
      transact(sterna.db, (tx) => recordEvents(tx, [{ projectId: project.id, name, contactId, data: { machine } }]))
    await record('email.open', true)
    await record('email.open', false)
    expect((await project.waiting(id)).event).toMatchObject({ name: 'email.open', data: { machine: false } })
    await record('email.click', true)
    await record('email.click', false)
    expect(await project.ended(id)).toMatchObject({ exitReason: 'clicked', context: { lastEvent: { data: { machine: false } } } })
  })
})

describe('an event and the end of a wait at the same time', () => {
  test('take exactly one branch', async () => {
    const [eventName, awaited] = [newEvent(), newEvent()]
    const { id, steps } = await project.create({ eventName })
    const wait = (await project.addStep(id, { type: 'WAIT_FOR_EVENT', config: { eventName: awaited, timeout: 3_600 } })).id
    const [paid, late] = [(await project.addStep(id, exit('paid'))).id, (await project.addStep(id, exit('late'))).id]
    await project.connect(id, steps[0].id, wait)
    await project.connect(id, wait, paid)
    await project.connect(id, wait, late, 'timeout')
    await project.call('PATCH', `/workflows/${id}`, { enabled: true })
    const emails = [newAddress(), newAddress(), newAddress(), newAddress()]
    await Promise.all(emails.map((email) => project.track({ email, event: eventName })))
    await eventually(async () => expect(await project.executions(id, '?status=WAITING')).toHaveLength(4))
    await Promise.all([
      ...emails.map((email) => project.track({ email, event: awaited })),
      sql`update workflow_executions set due_at = now() where workflow_id = ${id} and awaits is not null`.execute(sterna.db),
    ])
    await eventually(async () => expect(await project.executions(id, '?status=EXITED')).toHaveLength(4))
    for (const { id: executionId } of await project.executions(id)) {
      const { exitReason, stepExecutions } = await project.execution(id, executionId)
      expect(stepExecutions).toHaveLength(3)
      expect(stepExecutions[1].output).toEqual(
        exitReason === 'late' ? { timedOut: true } : { event: expect.objectContaining({ name: awaited }) },
      )
    }
    const { transitions } = await project.stats(id)
    expect(transitions.map(({ taken }: { taken: number }) => taken).slice(1)).toSatisfy(([a, b]: number[]) => a! + b! === 4)
  })
})

describe('a condition with several branches', () => {
  test.each([
    ['gold', 'high'],
    ['silver', 'middle'],
    ['tin', 'other'],
  ])('takes the first that matches: %s is %s', async (plan, reason) => {
    const { id, steps } = await project.create({ eventName: newEvent() })
    const branches = [
      { id: 'a', name: 'High', operator: 'equals', value: 'gold' },
      { id: 'b', name: 'Middle', operator: 'equals', value: 'silver' },
    ]
    const condition = await project.addStep(id, { type: 'CONDITION', config: { mode: 'multi', field: 'event.plan', branches } })
    await project.connect(id, steps[0].id, condition.id)
    for (const [branch, end] of Object.entries({ a: 'high', b: 'middle', default: 'other' }))
      await project.connect(id, condition.id, (await project.addStep(id, exit(end))).id, branch)
    const { triggerConfig } = (await project.call('PATCH', `/workflows/${id}`, { enabled: true })).body
    await project.track({ email: newAddress(), event: triggerConfig.eventName, data: { plan: { value: plan, persistent: false } } })
    expect(await project.ended(id)).toMatchObject({ exitReason: reason })
  })
})

describe('updating the contact', () => {
  test('can unsubscribe it, with the workflow as the source', async () => {
    const { id } = await project.line([
      { type: 'UPDATE_CONTACT', config: { updates: { tier: null, left: true }, subscriptionAction: 'unsubscribe' } },
    ])
    const contact = await newContact({ data: { tier: 'gold', kept: 1 }, subscribed: true })
    await project.start(id, contact.id)
    const execution = await project.ended(id)
    expect(await project.contacts.get(contact.id)).toMatchObject({ subscribed: false, data: { left: true, kept: 1 } })
    expect((await project.contacts.get(contact.id)).data).not.toHaveProperty('tier')
    expect((await project.contacts.consents()).at(-1)).toMatchObject({
      subscribed: false,
      source: 'workflow',
      details: { workflowId: id, executionId: execution.id },
    })
    expect(await project.events.namesOf(contact.id)).toContain('contact.unsubscribed')
  })
})

describe('explaining', () => {
  test('names why a contact is or is not in the workflow', async () => {
    const eventName = newEvent()
    const { id } = await project.line([delay], { eventName })
    const { id: contactId, email } = await newContact()
    const reason = async () => (await project.explain(id, contactId)).reason
    expect(await project.explain(id, contactId)).toMatchObject({ reason: 'not_triggered', canEnter: true, triggeredAt: null })
    await project.track({ email, event: eventName })
    const { id: executionId } = await project.waiting(id)
    expect(await project.explain(id, contactId)).toMatchObject({
      reason: 'active',
      isActive: true,
      canEnter: false,
      triggeredAt: expect.any(String),
      executions: [{ id: executionId, status: 'WAITING' }],
    })
    await project.call('DELETE', `/workflows/${id}/executions/${executionId}`)
    expect(await reason()).toBe('reentry')
    await project.call('PATCH', `/workflows/${id}`, { allowReentry: true })
    expect(await reason()).toBe('ready')
    await project.call('PATCH', `/workflows/${id}`, { enabled: false })
    expect(await reason()).toBe('disabled')
    expect((await project.call('GET', `/workflows/${id}/explain/${executionId}`)).status).toBe(404)
  })
})

describe('simulating', () => {
  test('follows branches by the contact as earlier steps have changed it', async () => {
    const [marketing, plain] = [await sendingTemplate({ type: 'MARKETING' }), await sendingTemplate({ subject: '{{tier}} {{event.code}}' })]
    const { id } = await project.line([
      { type: 'UPDATE_CONTACT', config: { updates: { tier: 'gold' }, subscriptionAction: 'unsubscribe' } },
      sendEmail(marketing),
      sendEmail(plain),
      { type: 'WAIT_FOR_EVENT', config: { eventName: 'paid', timeout: 60 } },
    ])
    const condition = await project.addStep(id, { type: 'CONDITION', config: { field: 'data.tier', operator: 'equals', value: 'gold' } })
    const { steps } = await project.get(id)
    const wait = steps.find(({ type }: { type: string }) => type === 'WAIT_FOR_EVENT').id
    await project.connect(id, wait, condition.id, 'timeout')
    await project.connect(id, condition.id, (await project.addStep(id, exit('is gold'))).id, 'yes')
    const contact = await newContact()
    const { body } = await project.call('POST', `/workflows/${id}/simulate`, {
      contactId: contact.id,
      event: { name: 'signup', data: { code: 'C1' } },
      at: '2026-01-01T00:00:00.000Z',
    })
    expect(body).toMatchObject({
      end: 'EXITED',
      reason: 'is gold',
      endsAt: '2026-01-01T00:01:00.000Z',
      path: [
        { type: 'TRIGGER' },
        { type: 'UPDATE_CONTACT' },
        { type: 'SEND_EMAIL', result: { skipped: 'unsubscribed' } },
        { type: 'SEND_EMAIL', result: { to: contact.email, subject: 'gold C1' } },
        { type: 'WAIT_FOR_EVENT', branch: 'timeout' },
        { type: 'CONDITION', branch: 'yes' },
        { type: 'EXIT' },
      ],
    })
    expect(await project.contacts.get(contact.id)).toMatchObject({ subscribed: true })
    expect(await project.executions(id)).toEqual([])
    const late = await project.call('POST', `/workflows/${id}/simulate`, { at: '9999-12-31T23:59:59.999Z' })
    expect([late.status, issues(late)]).toEqual([422, [['at', 'too_big']]])
  })
})

describe('the figures', () => {
  test('are the same before and after they are added up', async () => {
    const template = await sendingTemplate({ type: 'MARKETING' })
    const { id } = await project.line([sendEmail(template), delay, exit('done')])
    const [subscribed, unsubscribed] = [await newContact(), await newContact({ subscribed: false })]
    for (const contact of [subscribed, unsubscribed]) await project.start(id, contact.id)
    await eventually(async () => expect(await project.executions(id, '?status=WAITING')).toHaveLength(2))
    const before = await project.stats(id)
    expect(before).toMatchObject({
      started: 2,
      steps: [
        { type: 'TRIGGER', entered: 2, completed: 2, waiting: 0 },
        { type: 'SEND_EMAIL', entered: 2, completed: 1, skipped: 1, failed: 0, waiting: 0 },
        { type: 'DELAY', entered: 2, completed: 0, waiting: 2 },
        { type: 'EXIT', entered: 0 },
      ],
      transitions: [{ taken: 2 }, { taken: 2 }, { taken: 0 }],
    })
    await workflowLedger.fold(sterna.db)
    expect(await project.stats(id)).toEqual(before)
    expect(await project.counts(id)).toEqual({
      steps: 4,
      executions: 2,
      active: 2,
      finished: 0,
      failed: 0,
      cancelled: 0,
      entered30Days: 2,
    })
  })

  test('of the list count executions by status, also after they were counted anew', async () => {
    const { id } = await project.line([delay, exit('done')])
    for (const { id: contactId } of [await newContact(), await newContact(), await newContact()]) await project.start(id, contactId)
    await eventually(async () => expect(await project.executions(id, '?status=WAITING')).toHaveLength(3))
    const [left, cancelled] = await project.executions(id)
    await project.elapse(left!.id)
    await project.call('DELETE', `/workflows/${id}/executions/${cancelled!.id}`)
    await eventually(async () => expect(await project.executions(id, '?status=EXITED')).toHaveLength(1))
    const [failing, completing] = [await project.line([sendEmail(await project.template())]), await project.line([updateContact])]
    for (const each of [failing, completing]) {
      await project.start(each.id, (await newContact()).id)
      await project.ended(each.id)
    }
    const all = async () => [await project.counts(id), await project.counts(failing.id), await project.counts(completing.id)]
    const counted = [
      { steps: 3, executions: 3, active: 1, finished: 1, failed: 0, cancelled: 1, entered30Days: 3 },
      { steps: 2, executions: 1, active: 0, finished: 0, failed: 1, cancelled: 0, entered30Days: 1 },
      { steps: 2, executions: 1, active: 0, finished: 1, failed: 0, cancelled: 0, entered30Days: 1 },
    ]
    expect(await all()).toEqual(counted)
    const listed = async (failed: boolean) => {
      const { data, total } = (await project.call('GET', `/workflows?pageSize=100&failed=${failed}`)).body
      expect(data).toHaveLength(total)
      return data.map((each: { id: string }) => each.id).filter((each: string) => [id, failing.id, completing.id].includes(each))
    }
    const byFailure = async () => [await listed(true), (await listed(false)).sort()]
    const apart = [[failing.id], [id, completing.id].sort()]
    expect(await byFailure()).toEqual(apart)
    expect(await project.executions(id, '?status=RUNNING,WAITING')).toHaveLength(1)
    expect(await project.executions(id, '?status=COMPLETED&status=EXITED')).toHaveLength(1)
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
    expect(await project.executions(id, `?startedFrom=${yesterday}&startedTo=2099-01-01`)).toHaveLength(3)
    expect(await project.executions(id, '?startedTo=2026-01-01')).toEqual([])
    expect((await project.call('POST', `/workflows/${id}/executions/cancel-all?startedTo=2026-01-01`)).body).toEqual({ cancelled: 0 })
    await workflowLedger.fold(sterna.db)
    expect([await all(), await byFailure()]).toEqual([counted, apart])

    await sql`delete from workflow_figures where project_id = ${project.id} and subject_id = workflow_id and kind <> 'started'`.execute(
      sterna.db,
    )
    expect((await project.counts(id)).active).toBe(3)
    expect((await workflowLedger.repair(sterna.db, project.id)).workflow_figures).toBeGreaterThan(0)
    expect(await all()).toEqual(counted)
    expect((await workflowLedger.repair(sterna.db, project.id)).workflow_figures).toBe(0)
  })

  test('of the last 30 days are those of a list by dates, also after they were counted anew', async () => {
    const { id } = await project.line([delay])
    for (const { id: contactId } of [await newContact(), await newContact(), await newContact()]) await project.start(id, contactId)
    await eventually(async () => expect(await project.executions(id, '?status=WAITING')).toHaveLength(3))
    const { enteredSince } = (await project.call('GET', '/workflows?pageSize=1')).body.data[0]
    const shown = async () => {
      const { entered30Days } = await project.counts(id)
      expect((await project.call('GET', `/workflows/${id}/executions?startedFrom=${enteredSince}`)).body.total).toBe(entered30Days)
      return entered30Days
    }
    expect(await shown()).toBe(3)
    await workflowLedger.fold(sterna.db)
    expect(await shown()).toBe(3)

    // One at the start of the first day, one a moment before it. Ids have the time of the start.
    const executions = await project.executions(id)
    for (const [index, moment] of ['0', '1'].entries()) {
      const startedAt = sql`${enteredSince}::timestamp at time zone 'utc' - ${moment}::int * interval '1 millisecond'`
      await sql`
        update workflow_executions set started_at = ${startedAt}, id = (left(lowest_id(${startedAt})::text, 14) || right(id::text, 22))::uuid
        where id = ${executions[index]!.id}
      `.execute(sterna.db)
    }
    await sql`update workflows set created_at = now() - interval '1 year' where id = ${id}`.execute(sterna.db)
    await sql`delete from workflow_days where workflow_id = ${id}`.execute(sterna.db)
    expect((await project.counts(id)).entered30Days).toBe(0)
    expect((await workflowLedger.repair(sterna.db, project.id)).workflow_days).toBe(3)
    expect(await shown()).toBe(2)
    expect((await workflowLedger.repair(sterna.db, project.id)).workflow_days).toBe(0)

    const days = () => many(sterna.db, sql`select day from workflow_days where workflow_id = ${id}`)
    await sql`insert into workflow_days (project_id, workflow_id, day, started) values (${project.id}, ${id}, current_date - 40, 1)`.execute(
      sterna.db,
    )
    expect(await days()).toHaveLength(4)
    expect(await transact(sterna.db, (tx) => dropOldWorkflowDays(tx, 10))).toBe(1)
    expect(await days()).toHaveLength(3)
  })
})
