/** A shop with believable customers, a workflow under way and a campaign that was read: for the pictures of the README. */
import { sql } from 'kysely'
import type { Page } from 'playwright-core'
import { connect } from '../../server/src/db/index.ts'
import { createLog } from '../../server/src/lib/process/log.ts'
import { clickInMessage, openMessage } from '../test/support/read-email.ts'
import { inBatches, poll } from '../test/support/seed.ts'

const FIRST_NAMES = 'Ada Grace Alan Edsger Barbara Donald Margaret Ken Radia Tim Frances Dennis Hedy Linus Katherine Niklaus'.split(' ')
const LAST_NAMES = 'Berg Costa Duarte Eriksen Fischer Garnier Hansen Ito Jensen Kowalski Laurent Moreau Novak Okafor Petrov'.split(' ')
const DOMAINS = ['northwind.example', 'contoso.example', 'example.com', 'example.net']
const CUSTOMERS = 240
const WITH_ORDER = 151
/** Addresses that the sandbox treats as dead mailboxes. */
const DEAD = 3

const pick = <Item>(items: Item[], index: number) => items[index % items.length]!
const customer = (index: number) => {
  const [first, last] = [pick(FIRST_NAMES, index), pick(LAST_NAMES, index)]
  const local = index < DEAD ? `bounce+${last}` : `${first}.${last}.${index}`
  return { email: `${local}@${pick(DOMAINS, index)}`.toLowerCase(), data: { firstName: first, lastName: last, spent: (index * 37) % 120 } }
}

const email = (title: string, text: string, button: string) => `<!doctype html>
<html>
  <body style="margin: 0; background: #f6f1ea; font: 16px/1.6 Georgia, serif; color: #3b2a20">
    <div style="max-width: 560px; margin: 0 auto; padding: 40px 32px; background: #fff">
      <h1 style="color: #8a4b21">${title}</h1>
      <p>Hello {{ firstName ?? "there" }},</p>
      <p>${text}</p>
      <p><a href="https://fjord.example/shop" style="color: #8a4b21">${button}</a></p>
    </div>
  </body>
</html>
`

type Project = { id: string; secret: string }
type Call = (path: string, data: object) => Promise<{ id: string } & Record<string, unknown>>

export async function seedShowcase(page: Page, { id }: Project) {
  const headers = { 'x-project-id': id }
  const { request } = page.context()
  const call =
    (method: 'post' | 'put' | 'patch'): Call =>
    async (path, data) => {
      const response = await request[method](path, { data, headers })
      if (!response.ok()) throw new Error(`${path}: ${response.status()} ${await response.text()}`)
      return response.json()
    }
  const [post, put, patch] = [call('post'), call('put'), call('patch')]
  await post('/domains', { domain: 'mail.fjord.example' })
  await inBatches(CUSTOMERS, (index) => post('/contacts', { ...customer(index), subscribed: index % 16 !== 7 }))
  const workflow = await seedWorkflow(post, put, patch)
  const newcomers = CUSTOMERS - DEAD
  await inBatches(newcomers, (index) => post('/events/track', { email: customer(index + DEAD).email, event: 'account created' }))
  const counts = async (part: string) => JSON.stringify(await (await request.get(`/workflows/${workflow}${part}`, { headers })).json())
  await poll(async () => (await counts('/executions?status=WAITING&limit=1')).includes('"id"'))
  await inBatches(WITH_ORDER, (index) => post('/events/track', { email: customer(index + DEAD).email, event: 'first order' }))
  const campaign = await seedCampaign(page, headers, post)
  return { workflow, campaign }
}

async function seedWorkflow(post: Call, put: Call, patch: Call) {
  const template = async (name: string, subject: string, body: string) =>
    (await post('/templates', { name, subject, body, type: 'MARKETING', from: 'hello@mail.fjord.example', fromName: 'Fjord Coffee' })).id
  const welcome = await template('Welcome', 'Welcome to Fjord Coffee', email('Welcome', 'Good to have you with us.', 'Find your roast'))
  const thanks = await template('Thank you', 'A present for you', email('Thank you', 'Your next bag comes with a present.', 'Choose it'))
  const { id, version, steps } = await post('/workflows', { name: 'From account to first order', eventName: 'account created' })
  const [greet, wait, ask, reward, tag, done] = Array.from({ length: 6 }, () => crypto.randomUUID())
  const arrow = (fromStepId: string | undefined, toStepId: string | undefined, branch?: string) => ({
    fromStepId,
    toStepId,
    ...(branch && { branch }),
  })
  await put(`/workflows/${id}/graph`, {
    version,
    steps: [
      { id: greet, type: 'SEND_EMAIL', name: 'Welcome', config: { templateId: welcome } },
      { id: wait, type: 'WAIT_FOR_EVENT', name: 'Wait for the first order', config: { eventName: 'first order', timeout: 1_209_600 } },
      { id: ask, type: 'CONDITION', name: 'Spent 60 or more?', config: { field: 'data.spent', operator: 'greaterThanOrEqual', value: 60 } },
      { id: reward, type: 'SEND_EMAIL', name: 'Thank you', config: { templateId: thanks } },
      { id: tag, type: 'UPDATE_CONTACT', name: 'Mark as customer', config: { updates: { customer: true } } },
      { id: done, type: 'EXIT', name: 'Done', config: { reason: 'ordered' } },
    ],
    transitions: [
      arrow((steps as { id: string }[])[0]!.id, greet),
      arrow(greet, wait),
      arrow(wait, ask),
      arrow(ask, reward, 'yes'),
      arrow(ask, tag, 'no'),
      arrow(reward, tag),
      arrow(tag, done),
    ],
  })
  await patch(`/workflows/${id}`, { enabled: true })
  return id
}

/** Sooner an open or a click counts as one of a machine. */
const READING_MS = 3_500

async function seedCampaign(page: Page, headers: Record<string, string>, post: Call) {
  const { request } = page.context()
  const created = await post('/campaigns', {
    name: 'Autumn roast',
    subject: 'The autumn roast is here, {{ firstName ?? "friend" }}',
    previewText: 'Plum, cocoa and a little smoke',
    body: email('The autumn roast', 'Plum, cocoa and a little smoke: only until the first snow.', 'Try it'),
    from: 'hello@mail.fjord.example',
    fromName: 'Fjord Coffee',
    audienceType: 'ALL',
  })
  const { id } = created.data as { id: string }
  await post(`/campaigns/${id}/send`, {})
  const read = async () => (await request.get(`/campaigns/${id}`, { headers })).json()
  await poll(async () => (await read()).status === 'SENT')
  await new Promise((resolve) => setTimeout(resolve, READING_MS))
  const messages = await listMessages(page, headers)
  const opened = messages.filter((_, index) => index % 9 < 4)
  await inBatches(opened.length, (index) => openMessage(page, opened[index]!, headers))
  const clicked = opened.filter((_, index) => index % 3 === 0)
  await inBatches(clicked.length, (index) => clickInMessage(page, clicked[index]!, headers))
  await poll(async () => (await read()).openedCount >= opened.length && (await read()).clickedCount >= clicked.length)
  return id
}

async function listMessages(page: Page, headers: Record<string, string>) {
  const ids: string[] = []
  for (let cursor: string | undefined; ; ) {
    const query = cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''
    const answer = await (await page.context().request.get(`/sandbox/messages?limit=100${query}`, { headers })).json()
    ids.push(...(answer.data as { id: string; subject: string }[]).filter(({ subject }) => /autumn/.test(subject)).map((each) => each.id))
    cursor = answer.cursor
    if (!cursor) return ids
  }
}

/** As if the campaign had been sent yesterday, with most reactions in its first hours. */
export async function ageCampaign(url: string, campaignId: string) {
  const db = connect({ url, max: 1, log: createLog('silent') })
  await sql`
    with started as (
      update campaigns set started_at = now() - interval '31 hours', sent_at = now() - interval '30.9 hours' where id = ${campaignId}
      returning started_at
    ), delays as (
      select e.id, started_at + interval '1 minute' as at, started_at + interval '28 hours' * power((hashtext(e.id::text) & 1023) / 1023.0, 3) as read_at
      from emails e, started where e.campaign_id = ${campaignId}
    )
    update emails e set sent_at = d.at, delivered_at = d.at,
      opened_at = case when e.opened_at is not null then d.read_at end,
      clicked_at = case when e.clicked_at is not null then d.read_at + interval '10 minutes' end
    from delays d where d.id = e.id
  `.execute(db)
  await db.destroy()
}
