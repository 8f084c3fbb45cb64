import { randomUUID } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import type { RouteDeclaration } from '../../src/http/auth/declaration.ts'
import { SCOPES, type Scope } from '../../src/http/auth/scopes.ts'
import { fewAtOnce } from '../support/api/few-at-once.ts'
import { type Answer, useApp } from '../support/app.ts'
import { newProject, type PlainProject } from '../support/project.ts'

/*
 * Walks the routes with keys of every scope, and of two sender domains, over things that are drafts, enabled, SCHEDULED or SENDING. What a key
 * may do follows from the declaration of the route and from two facts of a case: what is live, and whose senders are concerned.
 */

type Declared = { name: string } & Pick<RouteDeclaration, 'scope' | 'read' | 'senders' | 'stops'>
const declared = new Map<string, Declared>()

subscribe('fastify.initialization', (message) => {
  const { fastify } = message as { fastify: FastifyInstance }
  fastify.addHook('onRoute', ({ method, url, config = {} }: RouteOptions) => {
    const { scope = null, read = false, senders = 'none', stops = 'never' } = config
    for (const each of [method].flat())
      if (scope !== null && each !== 'HEAD') declared.set(`${each} ${url}`, { name: `${each} ${url}`, scope, read, senders, stops })
  })
})

const sterna = useApp({ withWorker: false, env: { RATE_LIMIT_PER_MINUTE: '0' } })

type Domain = 'A' | 'B'
const DOMAINS = ['A', 'B'] as const
let project: PlainProject
let contactId: string
const domains: Record<Domain, string> = { A: 'a.scopes.example', B: 'b.scopes.example' }
const from: Record<Domain, string> = { A: `hello@${domains.A}`, B: `hello@${domains.B}` }

type Key = { name: string; scopes: Scope[]; domain: Domain | null; key: string }
const keys: Key[] = []
const WITH_SEND: Scope[][] = (['templates', 'campaigns', 'workflows', 'contacts'] as const).map((scope) => [scope, 'send'])
const LIMITED: Scope[][] = [['full'], ['workflows', 'templates'], ['templates'], ['campaigns'], ['send'], ...WITH_SEND]

beforeAll(async () => {
  project = await newProject(sterna)
  for (const domain of DOMAINS) await request('POST', '/domains', { domain: domains[domain] })
  contactId = (await project.contacts.create('c1@example.com', { subscribed: true })).id
  const kinds = [
    ...[...SCOPES.map((scope) => [scope]), ...WITH_SEND, ['workflows', 'templates']].map((scopes) => ({ scopes, domain: null })),
    ...LIMITED.map((scopes) => ({ scopes, domain: 'A' as const })),
  ] as Omit<Key, 'key' | 'name'>[]
  for (const { scopes, domain } of kinds) {
    const name = `${scopes.join('+')}${domain ? ` of ${domain}` : ''}`
    const body = { name, kind: 'secret', scopes, ...(domain ? { senderDomains: [domains[domain]] } : {}) }
    const answer = await project.owner.call('POST', `/projects/${project.id}/keys`, { body })
    keys.push({ name, scopes, domain, key: answer.body.key })
  }
})

/** By the key pair, which may do everything. */
async function request(method: string, url: string, body?: unknown): Promise<Answer['body']> {
  const answer = await project.call(method, url, body)
  if (answer.status >= 300) throw new Error(`${method} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

// What a key needs ----------------------------------------------------------------------------------------------------

/** The scopes that are missing for the route itself, of which an error names one. */
function missingFor({ name, scope, read }: Declared, granted: Scope[]): Scope[] {
  if (granted.includes('full') || (name.startsWith('GET ') && read && granted.includes('read'))) return []
  if (typeof scope === 'object' && scope !== null && 'all' in scope) return scope.all.filter((each) => !granted.includes(each))
  const alternatives = [scope ?? []].flat() as Scope[]
  return alternatives.some((each) => granted.includes(each)) ? [] : alternatives
}

/**
 * `isLive`: it is enabled, SCHEDULED or SENDING, or something is that uses it. `stored`, `new`, `live`: the domains of the senders concerned.
 * `isFree`: the request only stops something, or changes a name or description.
 */
type Facts = { isLive?: boolean; stored?: Domain; new?: Domain; live?: Domain; isFree?: boolean }

function refusalFor(route: Declared, { scopes, domain }: Key, facts: Facts) {
  const asks = (question: 'stored' | 'new' | 'live') => route.senders !== 'none' && route.senders.includes(question)
  const isLive = facts.isLive === true && asks('live') && !facts.isFree
  const missing = missingFor(route, scopes)
  const lacksSend = isLive && !scopes.includes('full') && !scopes.includes('send')
  const concerned = [
    asks('stored') && !(facts.isFree && route.stops === 'some') && facts.stored,
    asks('new') && facts.new,
    isLive && facts.live,
  ]
  const isForeign = domain !== null && concerned.some((each) => each && each !== domain)
  return { scopes: [...missing, ...(!missing.length && lacksSend ? ['send'] : [])], isForeign: !missing.length && isForeign }
}

const isRefused = ({ status, body }: Answer) => status === 403 && body.error?.code === 'INSUFFICIENT_SCOPE'

/** What is wrong with an answer, if anything. */
function problemOf(answer: Answer, expected: ReturnType<typeof refusalFor>, isDone: (status: number) => boolean): string | undefined {
  const shown = `${answer.status} ${JSON.stringify(answer.body)?.slice(0, 300)}`
  if (!expected.scopes.length && !expected.isForeign)
    return isDone(answer.status) && !isRefused(answer) ? undefined : `not let in: ${shown}`
  if (!isRefused(answer)) return `let in: ${shown}`
  const { scope, senderDomains } = answer.body.error.details
  const isNamed = expected.scopes.includes(scope) || (expected.isForeign && JSON.stringify(senderDomains) === JSON.stringify([domains.A]))
  return isNamed ? undefined : `refused for another reason: ${shown}`
}

// Things in their states ----------------------------------------------------------------------------------------------

const CONTENT = { subject: 'S', body: '<p>B</p>' }
const name = () => `n ${randomUUID()}`
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
const condition = (value: string) => ({ logic: 'AND', groups: [{ filters: [{ field: 'email', operator: 'contains', value }] }] })

const newTemplate = async (domain: Domain): Promise<string> =>
  (await request('POST', '/templates', { name: name(), ...CONTENT, type: 'TRANSACTIONAL', from: from[domain] })).id

type Trigger = { triggerType: 'EVENT' | 'SCHEDULE'; triggerConfig: object }
const ON_EVENT: Trigger = { triggerType: 'EVENT', triggerConfig: { eventName: 'go' } }

/** TRIGGER → SEND_EMAIL → EXIT, and a step that nothing leads to. */
async function newWorkflow(templateId: string, enabled: boolean, trigger = ON_EVENT) {
  const { id, version, steps } = await request('POST', '/workflows', { name: name(), eventName: 'go' })
  const [mail, end, spare] = [randomUUID(), randomUUID(), randomUUID()]
  const graph = {
    steps: [
      { id: mail, type: 'SEND_EMAIL', config: { templateId } },
      { id: end, type: 'EXIT', config: {} },
      { id: spare, type: 'DELAY', config: { amount: 1, unit: 'hours' } },
    ],
    transitions: [
      { id: randomUUID(), fromStepId: steps[0].id, toStepId: mail },
      { id: randomUUID(), fromStepId: mail, toStepId: end },
    ],
  }
  const saved = await request('PUT', `/workflows/${id}/graph`, { ...graph, version })
  if (trigger !== ON_EVENT) await request('PATCH', `/workflows/${id}`, trigger)
  if (enabled) await request('PATCH', `/workflows/${id}`, { enabled: true })
  return { at: `/workflows/${id}`, graph: { ...graph, version: saved.version }, mail, end, spare }
}

type CampaignState = 'DRAFT' | 'SCHEDULED' | 'SENDING' | 'PAUSED' | 'FAILED'
const campaignBody = (domain: Domain, audience: object = { audienceType: 'ALL' }) => ({
  name: 'C',
  ...CONTENT,
  from: from[domain],
  ...audience,
})

async function newCampaign(domain: Domain, state: CampaignState, audience?: object) {
  const { id } = (await request('POST', '/campaigns', { ...campaignBody(domain, audience), ratePerMinute: 10 })).data
  const at = `/campaigns/${id}`
  if (state === 'SCHEDULED') await request('POST', `${at}/send`, { scheduledFor: inAnHour() })
  else if (state !== 'DRAFT') await request('POST', `${at}/send`, {})
  if (state === 'PAUSED') await request('POST', `${at}/pause`)
  if (state === 'FAILED') await sql`update campaigns set status = 'SENT' where id = ${id}`.execute(sterna.db)
  return at
}

const newSegment = async (of: object): Promise<{ id: string; slug: string }> =>
  request('POST', '/segments', { name: name(), condition: of, trackMembership: false })

const memberOf = (id: string) => ({ logic: 'AND', groups: [{ filters: [{ field: `segment.${id}`, operator: 'memberOfSegment' }] }] })

async function newEmail(domain: Domain, isFailed = false) {
  const body = { to: 'c1@example.com', ...CONTENT, from: from[domain], sendAt: inAnHour() }
  const { data } = await request('POST', '/v1/send', body)
  const { email: id } = data.emails[0]
  if (isFailed)
    await sql`update emails set state = 'failed', error = 'x', error_code = 'transient', due_at = null where id = ${id}`.execute(sterna.db)
  return `/emails/${id}`
}

// Cases ---------------------------------------------------------------------------------------------------------------

type Request = { url: string; body?: unknown }
/** `make` makes what the request is about, and is called again after a request that was let in. */
type Case = { route: string; title: string; facts: Facts; make: () => Promise<Request>; isDone?: (status: number) => boolean }

const isAny = () => true
const ofEach = <Value>(values: readonly Value[], cases: (value: Value) => Case[]): Case[] => values.flatMap(cases)
const at = (url: string, body?: unknown): Request => (body === undefined ? { url } : { url, body })

function templateCases(domain: Domain): Case[] {
  const facts: Facts = { stored: domain }
  const uses = [
    ['unused', false, async (): Promise<string> => newTemplate(domain)],
    ['of a disabled workflow', false, async () => usedBy(false)],
    ['of an enabled workflow', true, async () => usedBy(true)],
  ] as const
  async function usedBy(enabled: boolean) {
    const id = await newTemplate(domain)
    await newWorkflow(id, enabled)
    return id
  }
  const changed = uses.flatMap(([title, isLive, make]): Case[] => {
    const live: Facts = { ...facts, isLive, live: domain }
    const patch = (what: string, more: Facts, body: object): Case => ({
      route: 'PATCH /templates/:id',
      title: `${what} of a template of ${domain} ${title}`,
      facts: { ...live, ...more },
      make: async () => at(`/templates/${await make()}`, body),
    })
    return [
      patch('the body', {}, { body: 'other' }),
      patch('the sender', { new: 'A' }, { from: from.A, body: 'other' }),
      patch('the sender to none', {}, { from: null }),
      patch('the name', { isFree: true }, { name: 'other', description: 'other' }),
      {
        route: 'POST /templates/:id/versions/:version/restore',
        title: `a template of ${domain} ${title}`,
        facts: { ...live, new: domain },
        make: async () => {
          const url = `/templates/${await make()}`
          await request('PATCH', url, { subject: 'other' })
          return at(`${url}/versions/1/restore`)
        },
      },
    ]
  })
  const ofTemplate = (route: string, suffix: string, body?: object): Case => ({
    route,
    title: `of ${domain}`,
    facts,
    make: async () => at(`/templates/${await newTemplate(domain)}${suffix}`, body),
  })
  return [
    ...changed,
    ofTemplate('DELETE /templates/:id', ''),
    ofTemplate('POST /templates/:id/duplicate', '/duplicate'),
    ofTemplate('POST /templates/:id/test', '/test', { email: 'c1@example.com' }),
    {
      route: 'POST /templates/:id/versions/:version/restore',
      title: `to the sender of B, of a template of ${domain}`,
      facts: { stored: domain, new: 'B' },
      make: async () => {
        const id = await newTemplate('B')
        await request('PATCH', `/templates/${id}`, { from: from[domain], subject: 'other' })
        return at(`/templates/${id}/versions/1/restore`)
      },
    },
    {
      route: 'POST /templates',
      title: `from ${domain}`,
      facts: { new: domain },
      make: async () => at('/templates', { name: name(), ...CONTENT, type: 'TRANSACTIONAL', from: from[domain] }),
    },
  ]
}

function campaignCases(domain: Domain): Case[] {
  const of = (route: string, suffix: string, state: CampaignState, more: Facts = {}, body?: unknown): Case => ({
    route,
    title: `${suffix} ${JSON.stringify(body) ?? ''} of a campaign of ${domain} that is ${state}`,
    facts: { stored: domain, live: domain, isLive: state === 'SCHEDULED' || state === 'SENDING', ...more },
    make: async () => at(`${await newCampaign(domain, state)}${suffix}`, body),
  })
  const action = (verb: string, state: CampaignState, body?: unknown) => of(`POST /campaigns/:id/${verb}`, `/${verb}`, state, {}, body)
  const stored = { ...campaignBody(domain), ratePerMinute: 10 }
  const replaced = (state: CampaignState): Case[] => {
    const put = (more: Facts, body: object) => of('PUT /campaigns/:id', '', state, more, body)
    return [
      put({ new: domain }, { ...stored, body: 'other' }),
      put({ new: domain }, { ...stored, audienceType: 'FILTERED', audienceCondition: condition('c1') }),
      put({ new: 'A' }, { ...stored, from: from.A, body: 'other' }),
      put({ new: 'B' }, { ...stored, from: from.B, body: 'other' }),
      put({ new: domain, isFree: true }, { ...stored, name: 'other', description: 'other' }),
      ...(state === 'SCHEDULED'
        ? [
            put({ new: domain }, { ...stored, scheduledFor: inAnHour() }),
            put({ new: domain, isLive: false }, { ...stored, scheduledFor: null }),
          ]
        : []),
    ]
  }
  return [
    ...replaced('DRAFT'),
    ...replaced('SCHEDULED'),
    ...ofEach(['DRAFT', 'SCHEDULED', 'SENDING'] as const, (state) => [
      of('PUT /campaigns/:id/rate', '/rate', state, {}, { ratePerMinute: 20 }),
      of('PUT /campaigns/:id/rate', '/rate', state, {}, { ratePerMinute: null }),
      of('PUT /campaigns/:id/rate', '/rate', state, { isFree: true }, { ratePerMinute: 5 }),
    ]),
    of('DELETE /campaigns/:id', '', 'DRAFT'),
    action('duplicate', 'DRAFT'),
    action('duplicate', 'SCHEDULED'),
    action('send', 'DRAFT', {}),
    action('send', 'DRAFT', { scheduledFor: inAnHour() }),
    action('send', 'SCHEDULED', {}),
    action('test', 'DRAFT', { email: 'c1@example.com' }),
    action('cancel', 'SCHEDULED'),
    action('cancel', 'SENDING'),
    action('pause', 'SENDING'),
    action('resume', 'PAUSED'),
    // Without failed emails it is a 400.
    { ...action('resend', 'FAILED', {}), isDone: (status) => status === 400 },
    {
      route: 'POST /campaigns',
      title: `from ${domain}`,
      facts: { new: domain },
      make: async () => at('/campaigns', campaignBody(domain)),
    },
  ]
}

function workflowCases(domain: Domain, isLive: boolean): Case[] {
  type Made = Awaited<ReturnType<typeof newWorkflow>>
  const of = (route: string, what: string, requestOf: (made: Made) => Request | Promise<Request>, more: Facts = {}): Case => ({
    route,
    title: `${what} of a workflow of ${domain} that is ${isLive ? 'enabled' : 'disabled'}`,
    facts: { stored: domain, live: domain, isLive, ...more },
    make: async () => requestOf(await newWorkflow(await newTemplate(domain), isLive)),
  })
  const patch = (what: string, body: object, more: Facts = {}) => of('PATCH /workflows/:id', what, ({ at: url }) => at(url, body), more)
  const addStep = (of_: Domain) =>
    of(
      'POST /workflows/:id/steps',
      `a step that sends for ${of_}`,
      async ({ at: url }) => at(`${url}/steps`, { type: 'SEND_EMAIL', config: { templateId: await newTemplate(of_) } }),
      { new: of_ },
    )
  return [
    patch('the event', { triggerConfig: { eventName: 'other' } }),
    patch('re-entry', { allowReentry: true }),
    patch('the trigger', { triggerType: 'MANUAL' }),
    patch('the name', { name: 'other', description: 'other' }, { isFree: true }),
    patch('enabled to true', { enabled: true }, { isLive: true }),
    patch('enabled to false', { enabled: false }, { isFree: true }),
    patch('enabled to false, and the event,', { enabled: false, triggerConfig: { eventName: 'other' } }, { isLive: false }),
    of('PUT /workflows/:id/graph', 'the way to the email', ({ at: url, graph, end }) =>
      at(`${url}/graph`, { ...graph, transitions: [{ ...graph.transitions[0]!, toStepId: end }] }),
    ),
    of(
      'PUT /workflows/:id/graph',
      'another email',
      async ({ at: url, graph, mail }) => {
        const config = { templateId: await newTemplate('A') }
        const steps = graph.steps.map((step) => (step.id === mail ? { ...step, config } : step))
        return at(`${url}/graph`, { ...graph, steps })
      },
      { new: 'A' },
    ),
    addStep('A'),
    addStep('B'),
    of('POST /workflows/:id/steps', 'a step that waits', ({ at: url }) =>
      at(`${url}/steps`, { type: 'DELAY', config: { amount: 1, unit: 'hours' } }),
    ),
    of('PATCH /workflows/:id/steps/:stepId', 'a wait', ({ at: url, spare }) =>
      at(`${url}/steps/${spare}`, { config: { amount: 2, unit: 'hours' } }),
    ),
    of('DELETE /workflows/:id/steps/:stepId', 'a step', ({ at: url, spare }) => at(`${url}/steps/${spare}`)),
    of('POST /workflows/:id/transitions', 'a transition', ({ at: url, spare, end }) =>
      at(`${url}/transitions`, { fromStepId: spare, toStepId: end }),
    ),
    of('DELETE /workflows/:id/transitions/:transitionId', 'a transition', ({ at: url, graph }) =>
      at(`${url}/transitions/${graph.transitions[0]!.id}`),
    ),
    of('DELETE /workflows/:id', 'all', ({ at: url }) => at(url)),
    of('POST /workflows/:id/duplicate', 'a copy', ({ at: url }) => at(`${url}/duplicate`)),
    of('POST /workflows/:id/executions/cancel-all', 'executions', ({ at: url }) => at(`${url}/executions/cancel-all`)),
    ...(isLive
      ? [
          of('POST /workflows/:id/executions', 'an execution', ({ at: url }) => at(`${url}/executions`, { contactId })),
          of('DELETE /workflows/:id/executions/:executionId', 'an execution', async ({ at: url }) =>
            at(`${url}/executions/${(await request('POST', `${url}/executions`, { contactId })).id}`),
          ),
        ]
      : []),
  ]
}

function segmentCases(domain: Domain): Case[] {
  type Uses = [title: string, isLive: boolean, use: (segment: { id: string; slug: string }) => Promise<unknown>]
  const inSegment = (id: string) => ({ audienceType: 'SEGMENT', segmentId: id })
  const daily = (segmentId: string): Trigger => ({ triggerType: 'SCHEDULE', triggerConfig: { schedule: '0 9 * * *', segmentId } })
  const onEntry = (slug: string): Trigger => ({ triggerType: 'EVENT', triggerConfig: { eventName: `segment.${slug}.entry` } })
  const uses: Uses[] = [
    ['unused', false, async () => {}],
    ['of a draft', false, ({ id }) => newCampaign(domain, 'DRAFT', inSegment(id))],
    ['of a scheduled campaign', true, ({ id }) => newCampaign(domain, 'SCHEDULED', inSegment(id))],
    ['of a campaign that has taken its audience', false, ({ id }) => newCampaign(domain, 'SENDING', inSegment(id))],
    [
      'that a segment of a scheduled campaign refers to',
      true,
      async ({ id }) => newCampaign(domain, 'SCHEDULED', inSegment((await newSegment(memberOf(id))).id)),
    ],
    ['of a disabled schedule', false, async ({ id }) => newWorkflow(await newTemplate(domain), false, daily(id))],
    ['of an enabled schedule', true, async ({ id }) => newWorkflow(await newTemplate(domain), true, daily(id))],
    ['whose entries start a workflow', true, async ({ slug }) => newWorkflow(await newTemplate(domain), true, onEntry(slug))],
    [
      'that a segment refers to whose entries start a workflow',
      true,
      async ({ id }) => newWorkflow(await newTemplate(domain), true, onEntry((await newSegment(memberOf(id))).slug)),
    ],
    [
      'that a step of an enabled workflow asks for',
      true,
      async ({ id }) => {
        const { at: url } = await newWorkflow(await newTemplate(domain), true)
        await request('POST', `${url}/steps`, { type: 'CONDITION', config: { field: `segment.${id}`, operator: 'memberOfSegment' } })
      },
    ],
  ]
  return uses.flatMap(([title, isLive, use]) => {
    const patch = (what: string, body: object, more: Facts = {}): Case => ({
      route: 'PATCH /segments/:id',
      title: `${what} of a segment ${title}, ${domain}`,
      facts: { isLive, live: domain, ...more },
      make: async () => {
        const segment = await newSegment(condition('c1'))
        await use(segment)
        return at(`/segments/${segment.id}`, body)
      },
    })
    const isOfSchedule = title.includes('schedule')
    return [
      patch('the condition', { condition: condition('@') }),
      ...(isLive ? [patch('tracking', { trackMembership: true })] : []),
      ...(isOfSchedule ? [patch('no tracking', { trackMembership: false }, { isFree: true })] : []),
      ...(isOfSchedule ? [patch('the name', { name: 'other', description: 'other' }, { isFree: true })] : []),
    ]
  })
}

const emailCases = (domain: Domain): Case[] => {
  const of = (route: string, suffix: string, body?: unknown, isFailed = false): Case => ({
    route,
    title: `of ${domain}`,
    facts: { stored: domain },
    make: async () => at(`${await newEmail(domain, isFailed)}${suffix}`, body),
  })
  return [
    of('POST /emails/:id/cancel', '/cancel'),
    of('PATCH /emails/:id', '', { sendAt: null }),
    of('POST /emails/:id/resend', '/resend', undefined, true),
    {
      route: 'POST /v1/send',
      title: `from ${domain}`,
      facts: { new: domain },
      make: async () => at('/v1/send', { to: 'c1@example.com', ...CONTENT, from: from[domain] }),
    },
    {
      route: 'POST /emails',
      title: `from ${domain}`,
      facts: { new: domain },
      make: async () => at('/emails', { to: 'c1@example.com', ...CONTENT, from: from[domain] }),
    },
    {
      route: 'POST /workflows/recipes/:key',
      title: `with the sender ${domain} of the template changed last`,
      facts: { new: domain },
      make: async () => {
        const { data } = await request('GET', '/workflows/recipes')
        await newTemplate(domain)
        return at(`/workflows/recipes/${data[0].key}`, {})
      },
    },
  ]
}

const cases = DOMAINS.flatMap((domain) => [
  ...templateCases(domain),
  ...campaignCases(domain),
  ...workflowCases(domain, false),
  ...workflowCases(domain, true),
  ...segmentCases(domain),
  ...emailCases(domain),
])

/** Keys that a case can tell apart: those without the scope of the route are refused, and `full` is all scopes, whatever it is about. */
const isTelling = ({ scopes }: Key, route: Declared) => !missingFor(route, scopes).length && !scopes.includes('full')

const isConcerned = ({ senders, stops }: Declared) => senders !== 'none' || stops !== 'never'

describe('a key may do what its scopes and sender domains allow', () => {
  test('of every route that sends, or changes what is sent, there is a case', () => {
    const covered = new Set(cases.map(({ route }) => route))
    expect([...declared.values()].filter((route) => isConcerned(route) && !covered.has(route.name)).map((route) => route.name)).toEqual([])
    expect([...covered].filter((route) => !declared.has(route) || !isConcerned(declared.get(route)!))).toEqual([])
  })

  test.each([...new Set(cases.map(({ route }) => route))])('%s', async (route) => {
    const wrong: string[] = []
    const ofRoute = cases.filter((each) => each.route === route)
    for (const [index, { title, facts, make, isDone = (status: number) => status < 300 }] of ofRoute.entries()) {
      let made: Request | undefined
      // The first case of a route asks all keys.
      for (const key of index === 0 ? keys : keys.filter((each) => isTelling(each, declared.get(route)!))) {
        made ??= await make()
        const answer = await sterna.call(route.split(' ')[0]!, made.url, {
          key: key.key,
          ...(made.body === undefined ? {} : { body: made.body }),
        })
        const problem = problemOf(answer, refusalFor(declared.get(route)!, key, facts), isDone)
        if (problem) wrong.push(`${title}, key ${key.name}: ${problem}`)
        if (!isRefused(answer)) made = undefined
      }
    }
    expect(wrong).toEqual([])
  })

  test('of every other route by its scopes alone', async () => {
    const others = [...declared.values()].filter((route) => !isConcerned(route))
    expect(others.length).toBeGreaterThan(100)
    const wrong: string[] = []
    const single = keys.filter(({ scopes: [scope, ...more], domain }) => !more.length && (domain === null || scope === 'full'))
    const pairs = others.flatMap((route) => single.map((key) => ({ route, key })))
    await fewAtOnce(pairs, async ({ route, key }) => {
      const [method, url] = route.name.split(' ') as [string, string]
      const answer = await sterna.call(
        method,
        url.replace(/:\w+/g, () => randomUUID()),
        { key: key.key },
      )
      const problem = problemOf(answer, refusalFor(route, key, {}), isAny)
      if (problem) wrong.push(`${route.name}, key ${key.name}: ${problem}`)
    })
    expect(wrong).toEqual([])
  })
})
