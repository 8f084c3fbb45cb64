import { beforeAll, describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useSharedApp()
let project: Awaited<ReturnType<typeof newWorkflowProject>>
beforeAll(async () => {
  project = await newWorkflowProject(sterna)
})
const simulate = async (id: string, body: object) => (await project.call('POST', `/workflows/${id}/simulate`, body)).body

describe('recipes', () => {
  const KEYS = ['welcome', 'trial-ending', 'abandoned-cart', 'win-back', 'receipt', 'feedback', 'birthday', 're-permission']

  test('each says what it is, what it needs and how to bring that', async () => {
    const { data } = (await project.call('GET', '/workflows/recipes')).body
    expect(data.map(({ key }: { key: string }) => key)).toEqual(KEYS)
    for (const { key, needs, emails, steps, description } of data) {
      expect([key, emails.length > 0, steps.length > 0, description.length > 20]).toEqual([key, true, true, true])
      expect(needs[0].snippet).toContain(needs[0].kind === 'event' ? '/v1/track' : '/contacts')
      expect(needs[0].snippet).toContain(needs[0].name)
    }
  })

  test.each(KEYS)('%s makes a disabled workflow without problems, with emails in the look of the project', async (key) => {
    const { status, body } = await project.call('POST', `/workflows/recipes/${key}`)
    expect([status, body.enabled, body.problems]).toEqual([201, false, []])
    const sending = body.steps.filter(({ type }: { type: string }) => type === 'SEND_EMAIL')
    const { data } = (await project.call('GET', '/workflows/recipes')).body
    expect(sending).toHaveLength(data.find((each: { key: string }) => each.key === key).emails.length)
    for (const { templateId } of sending) {
      const template = (await project.call('GET', `/templates/${templateId}`)).body
      expect(template.design).not.toBe(null)
      expect(template.from).not.toBe(null)
      expect(template.workflowId).toBe(body.id)
      expect(template.type === 'MARKETING').toBe(
        template.body.includes('{{unsubscribeUrl}}') || template.body.includes('{{ unsubscribeUrl'),
      )
    }
  })

  test('another name and event can be given, and an unknown recipe is a 404', async () => {
    const given = { name: 'Hello', eventName: 'joined' }
    const { body } = await project.call('POST', '/workflows/recipes/welcome', given)
    expect(body).toMatchObject({ name: 'Hello', triggerConfig: { eventName: 'joined' } })
    expect(outcome(await project.call('POST', '/workflows/recipes/nothing'))).toEqual([404, 'RESOURCE_NOT_FOUND'])
  })

  test('the emails of a birthday are sent on it, every year', async () => {
    const { body } = await project.call('POST', '/workflows/recipes/birthday')
    const contact = { data: { birthday: '1990-05-17' } }
    const { path } = await simulate(body.id, { contact, at: '2026-01-10T12:00:00Z' })
    const mails = path.filter(({ type }: { type: string }) => type === 'SEND_EMAIL').map(({ at }: { at: string }) => at)
    expect(mails.slice(0, 2)).toEqual(['2026-05-17T09:00:00.000Z', '2027-05-17T09:00:00.000Z'])
    const without = await simulate(body.id, { contact: { data: {} } })
    expect([without.end, without.reason]).toEqual(['EXITED', 'no_date'])
  })
})

test('templates that were written in a workflow are copied with it, and deleted with it unless something else uses them', async () => {
  type Step = { templateId: string | null }
  const templatesOf = ({ steps }: { steps: Step[] }) => steps.flatMap(({ templateId }) => templateId ?? [])
  const workflowOf = async (id: string) => {
    const { status, body } = await project.call('GET', `/templates/${id}`)
    return status === 200 ? body.workflowId : status
  }
  const original = (await project.call('POST', '/workflows/recipes/welcome')).body
  const [kept, lost] = templatesOf(original) as [string, string]
  const listed = async (workflowId: string) =>
    (await project.call('GET', `/templates?workflowId=${workflowId}`)).body.data.map(({ id }: { id: string }) => id)
  expect((await listed(original.id)).sort()).toEqual([kept, lost].sort())
  expect(await listed('none')).not.toContain(kept)

  const copy = (await project.call('POST', `/workflows/${original.id}/duplicate`)).body
  expect(templatesOf(copy)).toHaveLength(2)
  expect(templatesOf(copy)).not.toContain(kept)
  await project.line([{ type: 'SEND_EMAIL', config: { templateId: kept } }])

  expect((await project.call('DELETE', `/workflows/${original.id}`)).status).toBe(204)
  await eventually(async () => expect(await workflowOf(lost)).toBe(404))
  expect(await workflowOf(kept)).toBe(null)
  for (const id of templatesOf(copy)) expect(await workflowOf(id)).toBe(copy.id)

  const unknown = await project.call('PATCH', `/templates/${kept}`, { workflowId: original.id })
  expect([unknown.status, unknown.body.error.errors[0].field]).toEqual([422, 'workflowId'])
  const freed = await project.call('PATCH', `/templates/${templatesOf(copy)[0]}`, { workflowId: null })
  expect([freed.body.workflowId, freed.body.version]).toEqual([null, 1])
})

test('a delay until a date of the contact is waited for', async () => {
  const until = { type: 'DELAY', config: { until: 'data.renewsOn', hour: 8, timezone: 'Europe/Berlin' } }
  const { id } = await project.line([until, { type: 'EXIT' }], { eventName: 'renewal' })
  const { id: contactId } = await project.contacts.create('renewal@example.com', { data: { renewsOn: '2099-07-01' } })
  await project.start(id, contactId)
  expect((await project.waiting(id)).dueAt).toBe('2099-07-01T06:00:00.000Z')
  const refused = await project.call('POST', `/workflows/${id}/steps`, { type: 'DELAY', config: { until: 'email' } })
  expect([refused.status, refused.body.error.errors[0].field]).toEqual([422, 'config.until'])
})

describe('versions', () => {
  test('list who saved what when, and bring the steps of an older one back', async () => {
    const { id } = await project.line([{ type: 'DELAY', name: 'First', config: { amount: 1, unit: 'days' } }])
    const { data } = (await project.call('GET', `/workflows/${id}/versions`)).body
    expect(data.map(({ version, steps, isCurrent, savedBy }: Record<string, unknown>) => [version, steps, isCurrent, savedBy])).toEqual([
      [3, 2, true, null],
      [2, 2, false, null],
      [1, 1, false, null],
    ])
    const current = await project.get(id)
    const emptied = { version: current.version, steps: [], transitions: [] }
    expect((await project.call('PUT', `/workflows/${id}/graph`, emptied)).status).toBe(200)
    const old = (await project.call('GET', `/workflows/${id}/versions/3`)).body
    expect([old.steps, old.transitions]).toEqual([current.steps, current.transitions])
    const restored = { version: 4, steps: old.steps, transitions: old.transitions }
    expect((await project.call('PUT', `/workflows/${id}/graph`, restored)).status).toBe(200)
    expect((await project.get(id)).steps.map(({ name }: { name: string }) => name).sort()).toEqual(['First', 'Trigger'])
    expect(outcome(await project.call('GET', `/workflows/${id}/versions/99`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
  })

  test('the last 50 are kept, and the current one', async () => {
    const { id } = await project.create()
    for (let version = 1; version <= 55; version++)
      await project.call('PUT', `/workflows/${id}/graph`, { version, steps: [], transitions: [] })
    const { data } = (await project.call('GET', `/workflows/${id}/versions`)).body
    expect([data.length, data[0].version, data.at(-1).version]).toEqual([51, 56, 6])
  })
})

describe('a simulation', () => {
  test('takes the branches that are asked for, and shows what a step sees and sends', async () => {
    const templateId = await project.template({ subject: 'Hi {{ firstName }}', body: '<p>{{ plan }}</p>', from: `hello@${project.domain}` })
    const { id, triggerId } = await project.line([])
    const [ask, wait, tag, mail, exit] = Array.from({ length: 5 }, () => crypto.randomUUID())
    const arrow = (fromStepId: string, toStepId: string, branch?: string) => ({ fromStepId, toStepId, ...(branch && { branch }) })
    const graph = {
      version: 1,
      steps: [
        { id: ask, type: 'CONDITION', config: { field: 'data.plan', operator: 'equals', value: 'pro' } },
        { id: wait, type: 'WAIT_FOR_EVENT', config: { eventName: 'paid', timeout: 3_600 } },
        { id: tag, type: 'UPDATE_CONTACT', config: { updates: { plan: 'team' } } },
        { id: mail, type: 'SEND_EMAIL', config: { templateId } },
        { id: exit, type: 'EXIT' },
      ],
      transitions: [
        arrow(triggerId, ask!),
        arrow(ask!, wait!, 'yes'),
        arrow(ask!, exit!, 'no'),
        arrow(wait!, tag!),
        arrow(wait!, exit!, 'timeout'),
        arrow(tag!, mail!),
      ],
    }
    expect((await project.call('PUT', `/workflows/${id}/graph`, graph)).status).toBe(200)
    const contact = { data: { plan: 'free', firstName: 'Ada' } }
    const typesOf = ({ path }: { path: { type: string }[] }) => path.map(({ type }) => type)
    expect(typesOf(await simulate(id, { contact }))).toEqual(['TRIGGER', 'CONDITION', 'EXIT'])
    expect(typesOf(await simulate(id, { contact, answers: { [ask!]: 'yes' } }))).toEqual(['TRIGGER', 'CONDITION', 'WAIT_FOR_EVENT', 'EXIT'])
    const answers = { [ask!]: 'yes', [wait!]: 'event' }
    const shown = await simulate(id, { contact, answers, inspect: 4 })
    expect(typesOf(shown)).toEqual(['TRIGGER', 'CONDITION', 'WAIT_FOR_EVENT', 'UPDATE_CONTACT', 'SEND_EMAIL'])
    expect(shown.path[4].at).toBe(shown.path[0].at)
    expect(shown.inspected.contact.data).toEqual({ plan: 'team', firstName: 'Ada' })
    expect(shown.inspected.email).toMatchObject({ subject: 'Hi Ada', frameUrl: expect.stringContaining('/preview/page/') })
    expect(shown.inspected.email.html).toContain('<p>team</p>')
    expect((await simulate(id, { contact, inspect: 1 })).inspected.email).toBe(null)
  })
})

test('the visits of a step can be narrowed to those after which the execution came to another', async () => {
  const condition = { type: 'CONDITION', config: { field: 'data.plan', operator: 'equals', value: 'pro' } }
  const { id, triggerId } = await project.create({ eventName: 'narrow' }).then(({ id, steps }) => ({ id, triggerId: steps[0].id }))
  const ask = await project.addStep(id, condition)
  const yes = await project.addStep(id, { type: 'EXIT', name: 'Yes' })
  const no = await project.addStep(id, { type: 'EXIT', name: 'No' })
  await project.connect(id, triggerId, ask.id)
  await project.connect(id, ask.id, yes.id, 'yes')
  await project.connect(id, ask.id, no.id, 'no')
  await project.call('PATCH', `/workflows/${id}`, { enabled: true })
  for (const plan of ['pro', 'free', 'free']) {
    const contact = await project.contacts.create(`${crypto.randomUUID()}@example.com`, { data: { plan } })
    await project.start(id, contact.id)
  }
  await expect.poll(async () => (await project.counts(id)).finished, { timeout: 20_000 }).toBe(3)
  const totals = []
  for (const step of [yes, no])
    totals.push((await project.call('GET', `/workflows/${id}/steps/${ask.id}/visits?nextStepId=${step.id}`)).body.total)
  expect(totals).toEqual([1, 2])
})
