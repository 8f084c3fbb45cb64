import type { Page } from 'playwright-core'
import { clickInMessage } from './read-email.ts'

type Project = { id: string; public: string; secret: string }

const PLANS = ['free', 'pro', 'team']
const NAMES = ['ada', 'grace', 'alan', 'edsger', 'barbara', 'donald', 'margaret', 'ken', 'radia', 'tim', 'frances', 'dennis']
const EVENTS = ['signup', 'trial started', 'invoice paid', 'project created', 'invited a colleague']

const nameOf = (index: number) => `${NAMES[index % NAMES.length]}.${index}@example.com`

/** Requests at the same time. */
const AT_ONCE = 10

export async function inBatches(count: number, work: (index: number) => Promise<unknown>) {
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, index) => work(from + index)))
}

type Options = {
  /** Some recipients of the campaign open it and click. Takes some seconds: nobody reads an email at once. */
  engaged?: boolean
}

/** Contacts with data, events, emails in several states, a domain, templates, segments, campaigns and an import, all made through the API. */
export async function seedProject(
  page: Page,
  { id, public: publicKey, secret }: Project,
  contactCount = 60,
  { engaged = false }: Options = {},
) {
  const { request } = page.context()
  const post = async (path: string, data: object, headers: Record<string, string>) => {
    const response = await request.post(path, { data, headers })
    if (!response.ok()) throw new Error(`${path}: ${response.status()} ${await response.text()}`)
    return response.json()
  }
  const asUser = { 'x-project-id': id }
  const withSecret = { authorization: `Bearer ${secret}` }
  const withPublic = { authorization: `Bearer ${publicKey}` }

  await post('/domains', { domain: `mail-${id.slice(-6)}.example.com` }, asUser)
  await inBatches(contactCount, (index) => {
    const data = { plan: PLANS[index % 3], seats: index % 7, since: `2026-0${1 + (index % 9)}-15`, active: index % 4 !== 0 }
    return post('/contacts', { email: nameOf(index), subscribed: index % 6 !== 5, data }, asUser)
  })
  await inBatches(40, (index) =>
    post('/v1/track', { email: nameOf(index % 20), event: EVENTS[index % EVENTS.length], data: { amount: index * 5 } }, withPublic),
  )
  const from = { name: 'Acme', email: `hello@mail-${id.slice(-6)}.example.com` }
  const to = [...Array.from({ length: 12 }, (_, index) => nameOf(index)), 'bounce@example.com', 'complaint@example.com']
  const body = '<p>Thank you, {{plan}}. <a href="https://example.com/receipt">Your receipt</a></p>'
  // Nothing listens there: its requests fail at once.
  const endpoint = ((await post('/webhook-endpoints', { url: 'http://127.0.0.2:9/in', events: ['email.*'] }, asUser)) as { id: string }).id
  const sent = await post('/v1/send', { to, from, subject: 'Your receipt for November', body }, withSecret)
  const sendAt = new Date(Date.now() + 86_400_000).toISOString()
  const later = await post('/v1/send', { to: nameOf(0), from, subject: 'Your trial ends', body, sendAt }, withSecret)
  for (const suppressed of [{ address: 'someone@example.net' }, { domain: 'example.org' }]) await post('/suppressions', suppressed, asUser)
  const template = await seedTemplates(post, (path, data) => request.patch(path, { data, headers: asUser }), asUser)
  const contact = ((await post('/contacts', { email: nameOf(0) }, asUser)) as { id: string }).id
  const segments = await seedSegments(post, asUser)
  const campaigns = await seedCampaigns(page, post, { asUser, from: from.email, segment: segments.segment, engaged })
  const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from('email,plan\nedith@example.com,pro\nno address,free\n') }
  const job = (await (await request.post('/contacts/import', { multipart: { file }, headers: asUser })).json()).jobId as string
  const workflow = await seedWorkflows({ page, asUser, post, template, publicHeaders: withPublic })
  // The email is the one that bounces.
  const emails = { email: sent.data.emails[12].email as string, later: later.data.emails[0].email as string }
  return { ids: { contact, template, job, endpoint, ...emails, ...workflow, ...segments, ...campaigns } }
}

/** Runs a script if any page reads it as HTML. */
const HOSTILE = '<img src=x onerror=alert(1)>{{7*7}}</script>'

/** Texts of tenants and of their contacts that look like HTML: names, subjects, data and events. */
export async function seedHostileTexts(page: Page, { id }: Project, contactId: string) {
  const headers = { 'x-project-id': id }
  const send = async (method: 'post' | 'patch', path: string, data: object) => {
    const response = await page.context().request[method](path, { data, headers })
    if (!response.ok()) throw new Error(`${path}: ${response.status()} ${await response.text()}`)
  }
  const from = `hello@mail-${id.slice(-6)}.example.com`
  const [subject, body] = ['Hello', '<p>Hello</p>']
  await send('patch', `/contacts/${contactId}`, { data: { [HOSTILE]: HOSTILE, plan: HOSTILE } })
  await send('post', '/events/track', { email: nameOf(0), event: HOSTILE, data: { [HOSTILE]: HOSTILE } })
  await send('post', '/templates', { name: HOSTILE, subject: HOSTILE.replace('{{7*7}}', ''), body, type: 'TRANSACTIONAL' })
  await send('post', '/segments', { name: HOSTILE, type: 'STATIC' })
  await send('post', '/campaigns', { name: HOSTILE, subject, body, from, audienceType: 'ALL' })
  await send('post', '/workflows', { name: HOSTILE, eventName: HOSTILE })
}

type Post = (path: string, data: object, headers: Record<string, string>) => Promise<unknown>

const TEMPLATES = ['Welcome', 'Receipt', 'Trial ending', 'Newsletter', 'Password reset']
const BODY = `<!doctype html>
<html>
  <body style="margin: 0; font: 16px/1.5 sans-serif">
    <div style="max-width: 560px; margin: 0 auto; padding: 32px">
      <h1 style="color: #0b6e82">Hello {{ firstName ?? "there" }}</h1>
      <p>You are on the plan {{ plan }} with {{ seats }} seats.</p>
      {% if active %}<p>Thank you for being with us.</p>{% endif %}
      <p><a href="https://example.com/start">Get started</a></p>
    </div>
  </body>
</html>
`

/** Returns the id of the last one, which has two versions and an issue. */
async function seedTemplates(post: Post, patch: (path: string, data: object) => Promise<unknown>, asUser: Record<string, string>) {
  let id = ''
  for (const [index, name] of TEMPLATES.entries()) {
    const type = index % 2 ? 'TRANSACTIONAL' : 'MARKETING'
    const created = await post('/templates', { name, subject: `${name} for {{ firstName ?? "you" }}`, body: BODY, type }, asUser)
    id = (created as { id: string }).id
  }
  await patch(`/templates/${id}`, { body: BODY.replace('<h1', '<img src="data:,">\n      <h1') })
  return id
}

type Seeding = { page: Page; asUser: Record<string, string>; post: Post; template: string; publicHeaders: Record<string, string> }

/** A workflow with branches in which people wait, and one that nobody has entered. */
async function seedWorkflows({ page, asUser, post, template, publicHeaders }: Seeding) {
  const { request } = page.context()
  const create = (data: object) => post('/workflows', data, asUser) as Promise<{ id: string; version: number; steps: { id: string }[] }>
  const empty = await create({ name: 'Win back', eventName: 'subscription ended' })
  const { id, version, steps } = await create({
    name: 'Trial',
    eventName: 'trial started',
    description: 'From the first day to the first invoice.',
  })
  const [ask, tag, wait, mail, exit] = Array.from({ length: 5 }, () => crypto.randomUUID())
  const arrow = (fromStepId: string, toStepId: string, branch?: string) => ({ fromStepId, toStepId, ...(branch && { branch }) })
  const graph = {
    version,
    steps: [
      { id: ask, type: 'CONDITION', name: 'On the plan team?', config: { field: 'data.plan', operator: 'equals', value: 'team' } },
      { id: tag, type: 'UPDATE_CONTACT', name: 'Mark as important', config: { updates: { important: true } } },
      { id: wait, type: 'WAIT_FOR_EVENT', name: 'Wait for the invoice', config: { eventName: 'invoice paid', timeout: 1_209_600 } },
      { id: mail, type: 'SEND_EMAIL', name: 'Trial ends', config: { templateId: template } },
      { id: exit, type: 'EXIT', name: 'Has paid', config: { reason: 'paid' } },
    ],
    transitions: [
      arrow(steps[0]!.id, ask!),
      arrow(ask!, tag!, 'yes'),
      arrow(ask!, wait!, 'no'),
      arrow(tag!, wait!),
      arrow(wait!, exit!),
      arrow(wait!, mail!, 'timeout'),
    ],
  }
  await request.put(`/workflows/${id}/graph`, { data: graph, headers: asUser })
  await request.patch(`/workflows/${id}`, { data: { enabled: true }, headers: asUser })
  await inBatches(8, (index) => post('/v1/track', { email: nameOf(index), event: 'trial started' }, publicHeaders))
  return { workflow: id, step: wait!, emptyWorkflow: empty.id, execution: await findExecution(page, id, asUser) }
}

const EXECUTION_MS = 20_000

/** The id of an execution that waits, once there is one. */
async function findExecution(page: Page, workflow: string, headers: Record<string, string>): Promise<string> {
  for (const deadline = Date.now() + EXECUTION_MS; Date.now() < deadline; ) {
    const answer = await page.context().request.get(`/workflows/${workflow}/executions?status=WAITING`, { headers })
    const [first] = ((await answer.json()) as { data: { id: string }[] }).data
    if (first) return first.id
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('nobody entered the workflow')
}

/** One by a condition, whose entries and exits are tracked, and a static one with members. */
async function seedSegments(post: Post, asUser: Record<string, string>) {
  const plan = { field: 'data.plan', operator: 'equals', value: 'pro' }
  const active = { field: 'data.active', operator: 'equals', value: true }
  const condition = { logic: 'AND', groups: [{ filters: [plan, active] }] }
  const made = async (body: object) => ((await post('/segments', body, asUser)) as { id: string }).id
  const segment = await made({ name: 'Active on the plan pro', condition, trackMembership: true })
  const list = await made({ name: 'Newsletter', type: 'STATIC', description: 'People from the fair' })
  await post(`/segments/${list}/members`, { emails: Array.from({ length: 8 }, (_, index) => nameOf(index)) }, asUser)
  return { segment, list }
}

const NEWS = `<h1>Hello {{ firstName ?? "there" }}</h1>
<p>Three things are new this month.</p>
<p><a href="https://example.com/news">Read the news</a> or <a href="https://example.com/changes">see all changes</a>.</p>
`

type CampaignSeed = { asUser: Record<string, string>; from: string; segment: string; engaged: boolean }

/** One that was sent, with a receiver that refused it; one for a later day; and a draft. */
async function seedCampaigns(page: Page, post: Post, { asUser, from, segment, engaged }: CampaignSeed) {
  const { request } = page.context()
  const create = async (body: object) => {
    const { data } = (await post('/campaigns', { from, fromName: 'Acme', body: NEWS, audienceType: 'ALL', ...body }, asUser)) as {
      data: { id: string }
    }
    return data.id
  }
  for (const address of ['refuse@example.com', 'delivered@example.com']) await post('/contacts', { email: address }, asUser)
  const campaign = await create({ name: 'May news', subject: 'What is new in May', previewText: 'Three things, in two minutes' })
  await post(`/campaigns/${campaign}/send`, {}, asUser)
  const scheduled = await create({ name: 'Offer for pro', subject: 'An offer for {{ plan }}', audienceType: 'SEGMENT', segmentId: segment })
  await post(`/campaigns/${scheduled}/send`, { scheduledFor: new Date(Date.now() + 3 * 86_400_000).toISOString() }, asUser)
  const draft = await create({ name: 'June news', subject: 'What is new, {{ plan }}', audienceType: 'ALL' })
  const read = async () => (await request.get(`/campaigns/${campaign}`, { headers: asUser })).json()
  await poll(async () => (await read()).status === 'SENT')
  if (engaged) await readCampaign(page, asUser, async () => (await read()).clickedCount > 3)
  return { campaign, scheduled, draft }
}

/** Clicks as people would, from the messages in the sandbox. */
async function readCampaign(page: Page, asUser: Record<string, string>, isCounted: () => Promise<boolean>) {
  const { request } = page.context()
  // Sooner a click counts as one of a machine.
  await new Promise((resolve) => setTimeout(resolve, 3_500))
  const { data } = await (await request.get('/sandbox/messages?limit=40', { headers: asUser })).json()
  const news = (data as { id: string; subject: string }[]).filter(({ subject }) => subject.startsWith('What is new in May'))
  for (const { id } of news.slice(0, 12)) await clickInMessage(page, id, asUser)
  await poll(isCounted)
}

const POLL_MS = 200
const DEADLINE_MS = 30_000

export async function poll(isDone: () => Promise<boolean>) {
  for (const deadline = Date.now() + DEADLINE_MS; !(await isDone()); ) {
    if (Date.now() > deadline) throw new Error('not done in time')
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
