import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { issues, outcome } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useSharedApp()
let project: Awaited<ReturnType<typeof newWorkflowProject>>
beforeAll(async () => {
  project = await newWorkflowProject(sterna)
})

const delay = { type: 'DELAY', config: { amount: 1, unit: 'days' } }
const exit = { type: 'EXIT' }

describe('creating a workflow', () => {
  test('answers 201 with a disabled EVENT workflow and its TRIGGER step', async () => {
    const { status, body } = await project.call('POST', '/workflows', {
      name: 'Welcome',
      eventName: 'signup',
      enabled: true,
      triggerType: 'MANUAL',
    })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      name: 'Welcome',
      description: null,
      triggerType: 'EVENT',
      triggerConfig: { eventName: 'signup' },
      enabled: false,
      allowReentry: false,
      version: 1,
      projectId: project.id,
      steps: [{ type: 'TRIGGER', name: 'Trigger', workflowId: body.id, outgoingTransitions: [], incomingTransitions: [] }],
      transitions: [],
      problems: [{ stepId: body.steps[0].id, code: 'no_steps' }],
    })
    expect(await project.get(body.id)).toEqual(body)
  })

  test.each<[string, object, [string, string][]]>([
    ['no name', { name: undefined }, [['name', 'required']]],
    ['no event', { eventName: undefined }, [['eventName', 'required']]],
    ['an empty event', { eventName: ' ' }, [['triggerConfig.eventName', 'too_small']]],
    ['a config without an event', { eventName: undefined, triggerConfig: {} }, [['triggerConfig.eventName', 'required']]],
  ])('with %s is a 422 that names the field', async (_, change, expected) => {
    const answer = await project.call('POST', '/workflows', { name: 'A', eventName: 'b', ...change })
    expect([answer.status, issues(answer)]).toEqual([422, expected])
  })

  test('is found by search and status, and counted', async () => {
    const { id } = await project.create({ name: 'Needle 100%' })
    const list = async (query: string) => (await project.call('GET', `/workflows?${query}`)).body
    expect(await list('search=needle%20100%25')).toMatchObject({
      total: 1,
      page: 1,
      totalPages: 1,
      data: [{ id, _count: { steps: 1, executions: 0, active: 0, finished: 0, failed: 0, cancelled: 0, entered30Days: 0 } }],
    })
    expect((await list('search=needle&triggerType=EVENT')).total).toBe(1)
    expect((await list('search=needle&triggerType=MANUAL')).total).toBe(0)
    expect((await list('status=active&search=needle')).data).toEqual([])
    await project.call('PATCH', `/workflows/${id}`, { enabled: true })
    expect((await list('status=active&search=needle')).data).toMatchObject([{ id, enabled: true }])
  })
})

describe('updating a workflow', () => {
  test('changes the given fields, and refuses an old revision', async () => {
    const { id, updatedAt } = await project.create()
    const patch = (body: object, headers = {}) => project.call('PATCH', `/workflows/${id}`, body, headers)
    const changed = await patch({ name: 'New', allowReentry: true }, { 'if-match': `"${updatedAt}"` })
    expect(changed.body).toMatchObject({ name: 'New', allowReentry: true, triggerConfig: { eventName: 'signup' }, version: 1 })
    expect(await patch({ name: 'Old' }, { 'if-match': `"${updatedAt}"` })).toMatchObject({
      status: 409,
      body: { error: { details: { updatedAt: changed.body.updatedAt } } },
    })
  })

  test.each<[string, object, [string, string][]]>([
    [
      'a schedule without a config',
      { triggerType: 'SCHEDULE' },
      [
        ['triggerConfig.schedule', 'required'],
        ['triggerConfig.segmentId', 'required'],
      ],
    ],
    [
      'a schedule that is no cron',
      { triggerType: 'SCHEDULE', triggerConfig: { schedule: '99 * * * *', segmentId: randomUUID() } },
      [['triggerConfig.schedule', 'invalid_string']],
    ],
    [
      'an unknown time zone',
      { triggerType: 'SCHEDULE', triggerConfig: { schedule: '0 9 * * *', timezone: 'Mars/Olympus', segmentId: randomUUID() } },
      [['triggerConfig.timezone', 'invalid_string']],
    ],
    [
      'a segment that does not exist',
      { triggerType: 'SCHEDULE', triggerConfig: { schedule: '0 9 * * *', segmentId: randomUUID() } },
      [['triggerConfig.segmentId', 'custom']],
    ],
  ])('with %s is a 422', async (_, change, expected) => {
    const { id } = await project.create()
    const answer = await project.call('PATCH', `/workflows/${id}`, change)
    expect([answer.status, issues(answer)]).toEqual([422, expected])
  })

  test('takes a schedule with a segment, and the manual trigger without a config', async () => {
    const { id } = await project.create()
    const { body: segment } = await project.call('POST', '/segments', { name: 'All', type: 'STATIC' })
    const scheduled = await project.call('PATCH', `/workflows/${id}`, {
      triggerType: 'SCHEDULE',
      triggerConfig: { schedule: '0 9 * * mon-fri', segmentId: segment.id },
    })
    expect(scheduled.body).toMatchObject({
      triggerType: 'SCHEDULE',
      triggerConfig: { schedule: '0 9 * * mon-fri', timezone: 'UTC', segmentId: segment.id },
    })
    expect((await project.call('PATCH', `/workflows/${id}`, { triggerType: 'MANUAL' })).body.triggerConfig).toEqual({})
  })
})

describe('the problems of a workflow', () => {
  test.each<[string, object]>([
    ['a schedule whose date never comes', { triggerType: 'SCHEDULE', schedule: '0 0 31 2 *' }],
    ['an event about emails that does not exist', { eventName: 'email.opened' }],
    ['the events of a segment that is not tracked', { eventName: 'segment.nowhere.entry' }],
  ])('name %s', async (_, { triggerType = 'EVENT', ...config }: { triggerType?: string }) => {
    const { id, steps } = await project.create()
    const { body: segment } = await project.call('POST', '/segments', { name: 'Scheduled', type: 'STATIC' })
    const triggerConfig = { ...config, ...(triggerType === 'SCHEDULE' ? { segmentId: segment.id } : {}) }
    const { status, body } = await project.call('PATCH', `/workflows/${id}`, { triggerType, triggerConfig })
    expect(status).toBe(200)
    expect(body.problems).toContainEqual({ stepId: steps[0].id, code: 'trigger_incomplete', message: expect.any(String) })
  })

  test('do not name the events of a tracked segment, or of emails', async () => {
    const { body: segment } = await project.call('POST', '/segments', { name: 'Tracked', type: 'STATIC', trackMembership: true })
    for (const eventName of [`segment.${segment.slug}.exit`, 'email.open', 'signup'])
      expect((await project.create({ eventName })).problems).toMatchObject([{ code: 'no_steps' }])
  })
})

describe('the config of a step', () => {
  const tree = (field: string) => ({ logic: 'AND', groups: [{ filters: [{ field, operator: 'equals', value: 'x' }] }] })
  test.each<[string, object, [string, string][]]>([
    ['a type that does not exist', { type: 'DANCE' }, [['type', 'invalid_enum_value']]],
    ['a second TRIGGER', { type: 'TRIGGER' }, [['type', 'invalid_enum_value']]],
    ['an email without a template', { type: 'SEND_EMAIL' }, [['config.templateId', 'required']]],
    ['a template that does not exist', { type: 'SEND_EMAIL', config: { templateId: randomUUID() } }, [['config.templateId', 'custom']]],
    ['a delay of nothing', { type: 'DELAY', config: { amount: 0, unit: 'days' } }, [['config.amount', 'too_small']]],
    ['a delay of 366 days', { type: 'DELAY', config: { amount: 366, unit: 'days' } }, [['config.amount', 'too_big']]],
    ['a wait without an event', { type: 'WAIT_FOR_EVENT', config: {} }, [['config.eventName', 'required']]],
    [
      'a timeout of more than a year',
      { type: 'WAIT_FOR_EVENT', config: { eventName: 'a', timeout: 31_536_001 } },
      [['config.timeout', 'too_big']],
    ],
    ['an empty condition', { type: 'CONDITION', config: { logic: 'AND', groups: [] } }, [['config.groups', 'too_small']]],
    [
      'a field that does not exist',
      { type: 'CONDITION', config: tree('height') },
      [['config.groups.0.filters.0.field', 'invalid_enum_value']],
    ],
    [
      'a single condition without a value',
      { type: 'CONDITION', config: { field: 'data.a', operator: 'equals' } },
      [['config.value', 'required']],
    ],
    [
      'branches of nothing',
      { type: 'CONDITION', config: { mode: 'multi', field: 'data.a', branches: [] } },
      [['config.branches', 'too_small']],
    ],
    [
      'an unknown segment',
      { type: 'CONDITION', config: { field: `segment.${randomUUID()}`, operator: 'memberOfSegment' } },
      [['config.groups.0.filters.0.field', 'custom']],
    ],
    ['a webhook without a URL', { type: 'WEBHOOK', config: {} }, [['config.url', 'required']]],
    ['a webhook to this machine', { type: 'WEBHOOK', config: { url: 'http://127.0.0.1/' } }, [['config.url', 'custom']]],
    ['a webhook to a host from the data', { type: 'WEBHOOK', config: { url: 'https://{{host}}/' } }, [['config.url', 'custom']]],
    [
      'a webhook with a header of its own connection',
      { type: 'WEBHOOK', config: { url: 'https://example.com/', headers: { Host: 'a' } } },
      [['config.headers.Host', 'custom']],
    ],
    [
      'a webhook with a broken template',
      { type: 'WEBHOOK', config: { url: 'https://example.com/', body: { a: '{{ b' } } },
      [['config.body.a', 'invalid_string']],
    ],
    ['an update of nothing', { type: 'UPDATE_CONTACT', config: {} }, [['config.updates', 'required']]],
    ['a number as reason', { type: 'EXIT', config: { reason: 1 } }, [['config.reason', 'invalid_type']]],
    ['a config of 65 KB', { type: 'EXIT', config: { more: 'x'.repeat(65_536) } }, [['config', 'too_big']]],
  ])('with %s is a 422 that names the field', async (_, step, expected) => {
    const { id } = await project.create()
    const answer = await project.call('POST', `/workflows/${id}/steps`, step)
    expect([answer.status, issues(answer)]).toEqual([422, expected])
    expect((await project.get(id)).version).toBe(1)
  })

  test('of an email keeps its template when only the recipient is changed', async () => {
    const { id } = await project.create()
    const templateId = await project.template({ from: `hello@${project.domain}` })
    const step = await project.addStep(id, { type: 'SEND_EMAIL', templateId })
    const recipient = { type: 'CUSTOM', customEmail: 'sales@example.com' }
    const { body } = await project.call('PATCH', `/workflows/${id}/steps/${step.id}`, { config: { recipient } })
    expect(body).toMatchObject({ templateId, config: { templateId, recipient } })
    const other = await project.template({ from: `hello@${project.domain}` })
    const changed = await project.call('PATCH', `/workflows/${id}/steps/${step.id}`, { config: { templateId: other } })
    expect(changed.body).toMatchObject({ templateId: other, config: { recipient: { type: 'CONTACT' } } })
    const { data } = (await project.call('GET', `/templates/usage?ids=${templateId},${other}`)).body
    expect(Object.fromEntries(data.map((each: { id: string; workflowCount: number }) => [each.id, each.workflowCount]))).toEqual({
      [templateId]: 0,
      [other]: 1,
    })
  })

  test('may ask about the contact, the event and the context in one tree', async () => {
    const { id } = await project.create()
    const filters = [
      { field: 'data.plan', operator: 'equals', value: 'pro' },
      { field: 'event.amount', operator: 'greaterThan', value: 10 },
      { field: 'event.purchase', operator: 'triggeredWithin', value: 7, unit: 'days' },
      { field: 'context.source', operator: 'exists' },
    ]
    const config = { logic: 'OR', groups: [{ filters }] }
    expect((await project.addStep(id, { type: 'CONDITION', config })).config).toEqual(config)
  })
})

describe('transitions', () => {
  test.each<[string, (ids: Record<string, string>) => object, string]>([
    ['a step to itself', ({ delay }) => ({ fromStepId: delay, toStepId: delay }), 'toStepId'],
    ['an EXIT step', ({ exit, delay }) => ({ fromStepId: exit, toStepId: delay }), 'fromStepId'],
    ['a step of nowhere', ({ delay }) => ({ fromStepId: delay, toStepId: randomUUID() }), 'toStepId'],
    ['a step to the TRIGGER', ({ delay, trigger }) => ({ fromStepId: delay, toStepId: trigger }), 'toStepId'],
    ['a CONDITION without a branch', ({ condition, exit }) => ({ fromStepId: condition, toStepId: exit }), 'branch'],
    ['a CONDITION by an unknown branch', ({ condition, exit }) => ({ fromStepId: condition, toStepId: exit, branch: 'maybe' }), 'branch'],
    [
      'a branch that is taken',
      ({ condition, exit }) => ({ fromStepId: condition, toStepId: exit, condition: { branch: 'yes' } }),
      'branch',
    ],
    ['a step that leads somewhere', ({ trigger, exit }) => ({ fromStepId: trigger, toStepId: exit }), 'branch'],
    ['a loop without a pause', ({ update, condition }) => ({ fromStepId: update, toStepId: condition }), 'toStepId'],
  ])('from %s are refused with 422', async (_, body, field) => {
    const { id, steps } = await project.create()
    const trigger = steps[0].id
    const condition = (await project.addStep(id, { type: 'CONDITION', config: { field: 'subscribed', operator: 'equals', value: true } }))
      .id
    const update = (await project.addStep(id, { type: 'UPDATE_CONTACT', config: { data: { a: 1 } } })).id
    const ids = { trigger, condition, update, delay: (await project.addStep(id, delay)).id, exit: (await project.addStep(id, exit)).id }
    expect(outcome(await project.connect(id, trigger, condition))).toEqual([201])
    expect(outcome(await project.connect(id, condition, update, 'yes'))).toEqual([201])
    const { version } = await project.get(id)
    const answer = await project.call('POST', `/workflows/${id}/transitions`, body(ids))
    expect([answer.status, issues(answer)]).toEqual([422, [[field, 'custom']]])
    expect((await project.get(id)).version).toBe(version)
  })

  test('are re-pointed when a step between them is deleted with splice', async () => {
    const { id, steps } = await project.create()
    const between = (await project.addStep(id, delay)).id
    const last = (await project.addStep(id, exit)).id
    await project.connect(id, steps[0].id, between)
    await project.connect(id, between, last)
    expect((await project.call('DELETE', `/workflows/${id}/steps/${between}?splice=true`)).status).toBe(204)
    expect((await project.get(id)).transitions).toMatchObject([{ fromStepId: steps[0].id, toStepId: last, branch: null, condition: null }])
    expect((await project.call('DELETE', `/workflows/${id}/steps/${last}`)).status).toBe(204)
    expect(await project.get(id)).toMatchObject({ transitions: [], steps: [{ type: 'TRIGGER' }] })
    expect((await project.call('DELETE', `/workflows/${id}/steps/${steps[0].id}`)).status).toBe(409)
  })
})

describe('replacing the graph', () => {
  test('is one change, and refused when the version is stale', async () => {
    const { id, steps } = await project.create()
    const [a, b] = [randomUUID(), randomUUID()]
    const graph = {
      version: 1,
      steps: [
        { id: a, ...delay, name: 'Rest' },
        { id: b, ...exit },
      ],
      transitions: [
        { fromStepId: steps[0].id, toStepId: a },
        { fromStepId: a, toStepId: b },
      ],
    }
    const put = (body: object) => project.call('PUT', `/workflows/${id}/graph`, body)
    const { status, body } = await put(graph)
    expect(status).toBe(200)
    expect(body).toMatchObject({ version: 2, problems: [], steps: [{ id: a, name: 'Rest' }, { id: b }, { id: steps[0].id }] })
    expect(await put(graph)).toMatchObject({ status: 409, body: { error: { details: { version: 2 } } } })
    const other = await project.create()
    const foreign = await project.call('PUT', `/workflows/${other.id}/graph`, { version: 1, steps: [{ id: a, ...delay }], transitions: [] })
    expect([foreign.status, issues(foreign)]).toEqual([422, [['steps.0.id', 'custom']]])
    const wrong = await put({ ...graph, version: 2, transitions: [{ fromStepId: a, toStepId: a }] })
    expect([wrong.status, issues(wrong)]).toEqual([422, [['transitions.0.toStepId', 'custom']]])
    const missing = await put({ version: 2, steps: [exit, { type: 'SEND_EMAIL', config: { templateId: randomUUID() } }], transitions: [] })
    expect([missing.status, issues(missing)]).toEqual([422, [['steps.1.config.templateId', 'custom']]])
    const twice = await put({ ...graph, version: 2, steps: [...graph.steps, { id: a, ...delay }] })
    expect([twice.status, issues(twice)]).toEqual([422, [['steps.2.id', 'custom']]])
  })
})

describe('another project', () => {
  test('does not see the workflow', async () => {
    const { id, steps } = await project.create()
    const other = await newWorkflowProject(sterna)
    const answers = [
      await other.call('GET', `/workflows/${id}`),
      await other.call('PATCH', `/workflows/${id}`, { name: 'Mine' }),
      await other.call('DELETE', `/workflows/${id}`),
      await other.call('POST', `/workflows/${id}/duplicate`),
      await other.call('POST', `/workflows/${id}/steps`, delay),
      await other.call('PATCH', `/workflows/${id}/steps/${steps[0].id}`, { name: 'Mine' }),
      await other.call('PUT', `/workflows/${id}/graph`, { version: 1, steps: [], transitions: [] }),
      await other.call('GET', `/workflows/${id}/executions`),
      await other.call('GET', `/workflows/${id}/stats`),
      await other.call('POST', `/workflows/${id}/simulate`, {}),
    ]
    expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual(answers.map(() => [404, 'WORKFLOW_NOT_FOUND']))
  })
})

describe('duplicating a workflow', () => {
  test('copies the graph with new ids', async () => {
    const { id, steps } = await project.line([delay, exit])
    const { body } = await project.call('POST', `/workflows/${id}/duplicate`)
    expect(body).toMatchObject({
      name: 'Welcome (Copy)',
      enabled: false,
      steps: [{ type: 'TRIGGER' }, { type: 'DELAY' }, { type: 'EXIT' }],
    })
    expect(body.transitions).toHaveLength(2)
    expect(body.steps.map((step: { id: string }) => step.id)).not.toContain(steps[0])
    expect((await project.call('DELETE', `/workflows/${body.id}`)).status).toBe(204)
    expect((await project.call('GET', `/workflows/${body.id}`)).status).toBe(404)
  })
})

describe('what a workflow uses', () => {
  test('is listed, and cannot be deleted meanwhile', async () => {
    const templateId = await project.template({ from: `hello@${project.domain}` })
    const { body: segment } = await project.call('POST', '/segments', { name: 'Used', type: 'STATIC' })
    const condition = { field: `segment.${segment.id}`, operator: 'memberOfSegment' }
    const { id, steps } = await project.line(
      [
        { type: 'SEND_EMAIL', config: { templateId } },
        { type: 'UPDATE_CONTACT', config: { data: { usedField: 1 } } },
        { type: 'CONDITION', config: condition },
      ],
      { eventName: 'used-event', name: 'User' },
    )
    const named = { id, name: 'User' }
    const usage = async (path: string) => (await project.call('GET', `${path}/usage`)).body
    expect((await usage(`/templates/${templateId}`)).workflowSteps).toEqual([
      { id: steps[0], name: 'Send email', workflowId: id, workflowName: 'User' },
    ])
    const counts = (await project.call('GET', `/templates/usage?ids=${templateId}`)).body.data
    expect(counts).toEqual([{ id: templateId, campaignCount: 0, workflowCount: 1, emailsSent: 0 }])
    expect((await usage('/contacts/fields/usedField')).usedInWorkflows).toEqual([named])
    expect((await usage('/events/used-event')).usedInWorkflows).toEqual([named])
    const usedBy = { details: { usedBy: [{ type: 'workflow', ...named }] } }
    expect(await project.call('DELETE', `/templates/${templateId}`)).toMatchObject({ status: 409, body: { error: usedBy } })
    expect(await project.call('DELETE', `/segments/${segment.id}`)).toMatchObject({ status: 409, body: { error: usedBy } })
    const state = await project.owner.call('GET', `/projects/${project.id}/setup-state`)
    expect(state.body.hasEnabledWorkflow).toBe(true)
    for (const step of [steps[0], steps[2]]) await project.call('DELETE', `/workflows/${id}/steps/${step}?splice=true`)
    expect((await project.call('DELETE', `/templates/${templateId}`)).status).toBe(204)
    expect((await project.call('DELETE', `/segments/${segment.id}`)).status).toBe(204)
  })
})
