import type { Answer } from './app.ts'
import { until } from './eventually.ts'
import { png } from './files/images.ts'
import { MULTIPART, multipart } from './files/multipart.ts'
import type { SendingProject } from './project.ts'
import { times } from './times.ts'

/** Readers that are subscribed; others are unsubscribed, suppressed or deleted. */
const READERS = 7
export const UNSUBSCRIBED = 'unsubscribed@example.com'
export const SUPPRESSED = 'suppressed@example.com'
const RECEIVER = 'http://127.0.0.2:9/hooks'
export const LINK_TARGET = 'https://shop.example/sale'

type Api = (method: string, url: string, body?: unknown, headers?: Record<string, string>) => Promise<Pick<Answer, 'status' | 'body'>>
/** `call`: with the secret key. `byOwner`: as the signed-in owner. */
type ToFill = { id: string; domain: string; call: Api; byOwner: Api }

export const toFill = ({ id, domain, call, owner }: SendingProject): ToFill => ({
  id,
  domain,
  call,
  byOwner: (method, url, body) => owner.call(method, url, { body }),
})

/** Gives a project something of everything that a customer makes, by the API. Ends when nothing is under way but what waits for its time. */
export async function fillProject({ id, domain, call, byOwner }: ToFill) {
  const by =
    (api: Api) =>
    async (...request: Parameters<Api>): Promise<Answer['body']> => {
      const { status, body } = await api(...request)
      if (status >= 300) throw new Error(`${request[0]} ${request[1]}: ${status} ${JSON.stringify(body)}`)
      return body
    }
  const [made, madeByOwner] = [by(call), by(byOwner)]
  const from = `news@${domain}`
  await madeByOwner('PATCH', `/users/@me/projects/${id}`, { timezone: 'Europe/Berlin', language: 'de', tracking: 'ENABLED' })
  const image = await made('POST', '/uploads/image', multipart([{ content: png(), field: 'image', filename: 'logo.png' }]), MULTIPART)

  const readers = []
  for (const n of times(READERS, (n) => n))
    readers.push(
      await made('POST', '/contacts', { email: `reader${n}@example.com`, subscribed: true, data: { n, plan: n % 2 ? 'pro' : 'free' } }),
    )
  const unsubscribed = await made('POST', '/contacts', { email: UNSUBSCRIBED, subscribed: true })
  await made('PATCH', `/contacts/${unsubscribed.id}`, { subscribed: false })
  await made('POST', '/contacts', { email: SUPPRESSED, subscribed: true })
  await made('POST', '/suppressions', { address: SUPPRESSED })
  await made('DELETE', `/contacts/${(await made('POST', '/contacts', { email: 'deleted@example.com', subscribed: true })).id}`)

  const template = await made('POST', '/templates', {
    name: 'Welcome',
    subject: 'Welcome',
    body: `<p><img src="${image.url}"> Hello {{ plan }}, <a href="${LINK_TARGET}">the sale</a> <a href="{{ unsubscribeUrl }}">no more</a></p>`,
    from,
    type: 'MARKETING',
  })
  await made('PATCH', `/templates/${template.id}`, { subject: 'Welcome again' })
  const fixed = await made('POST', '/segments', { name: 'Friends', type: 'STATIC' })
  await made('POST', `/segments/${fixed.id}/members`, { emails: ['reader0@example.com', 'reader1@example.com'] })
  const condition = { logic: 'AND', groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }] }
  const tracked = await made('POST', '/segments', { name: 'Pro', condition, trackMembership: true })
  const delay = { type: 'DELAY', name: 'A month', config: { amount: 30, unit: 'days' } }
  const workflow = await made('POST', '/workflows', { name: 'Onboarding', eventName: 'signup' })
  const step = await made('POST', `/workflows/${workflow.id}/steps`, delay)
  await made('POST', `/workflows/${workflow.id}/transitions`, { fromStepId: workflow.steps[0].id, toStepId: step.id })
  await made('PATCH', `/workflows/${workflow.id}`, { enabled: true })
  await made('POST', '/events/track', { email: 'reader2@example.com', event: 'signup', data: { from: 'test' } })
  const execution = await until(
    'an execution waits',
    async () => (await made('GET', `/workflows/${workflow.id}/executions?status=WAITING`)).data[0],
  )
  const endpoint = await made('POST', '/webhook-endpoints', { url: RECEIVER, events: ['contact.unsubscribed'] })
  const key = await madeByOwner('POST', `/projects/${id}/keys`, { kind: 'secret', name: 'Shop', scopes: ['full'] })

  const campaign = (more: object) =>
    made('POST', '/campaigns', { name: 'News', subject: 'News', body: '<p>News</p>', from, audienceType: 'ALL', ...more })
  const { data: sent } = await campaign({ name: 'Sent' })
  await made('POST', `/campaigns/${sent.id}/send`)
  await until('a campaign is sent', async () => (await made('GET', `/campaigns/${sent.id}`)).status === 'SENT')
  const { data: scheduled } = await campaign({ name: 'Scheduled' })
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
  await made('POST', `/campaigns/${scheduled.id}/send`, { scheduledFor: inAnHour })
  const { data: sending } = await campaign({ name: 'Sending', ratePerMinute: 1 })
  await made('POST', `/campaigns/${sending.id}/send`)
  await until('one email of a campaign has left', async () => {
    const { totalRecipients, sentCount } = await made('GET', `/campaigns/${sending.id}`)
    return totalRecipients === READERS && sentCount === 1
  })
  const send = async (more: object, headers?: Record<string, string>): Promise<string> =>
    (await made('POST', '/v1/send', more, headers)).data.emails[0].email
  const waitingId = await send({ to: 'reader3@example.com', from, subject: 'Later', body: '<p>Later</p>', sendAt: inAnHour })
  const emailId = await send({ to: 'reader4@example.com', template: template.id }, { 'idempotency-key': 'welcome-4' })
  await until('an email is sent', async () => (await made('GET', `/emails/${emailId}`)).status === 'SENT')
  return {
    image,
    readers,
    unsubscribed,
    template,
    fixed,
    tracked,
    workflow,
    execution,
    endpoint,
    key,
    sent,
    scheduled,
    sending,
    waitingId,
    emailId,
  }
}
