import type { Page } from 'playwright-core'

type Project = { id: string; public: string; secret: string }

const PLANS = ['free', 'pro', 'team']
const NAMES = ['ada', 'grace', 'alan', 'edsger', 'barbara', 'donald', 'margaret', 'ken', 'radia', 'tim', 'frances', 'dennis']
const EVENTS = ['signup', 'trial started', 'invoice paid', 'project created', 'invited a colleague']

const nameOf = (index: number) => `${NAMES[index % NAMES.length]}.${index}@example.com`

/** Contacts with data, events, emails in several states and a domain, all made through the API. */
export async function seedProject(page: Page, { id, public: publicKey, secret }: Project, contactCount = 60) {
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
  for (let index = 0; index < contactCount; index++) {
    const data = { plan: PLANS[index % 3], seats: index % 7, since: `2026-0${1 + (index % 9)}-15`, active: index % 4 !== 0 }
    await post('/contacts', { email: nameOf(index), subscribed: index % 6 !== 5, data }, asUser)
  }
  for (let index = 0; index < 40; index++) {
    await post('/v1/track', { email: nameOf(index % 20), event: EVENTS[index % EVENTS.length], data: { amount: index * 5 } }, withPublic)
  }
  const from = { name: 'Acme', email: `hello@mail-${id.slice(-6)}.example.com` }
  const to = [...Array.from({ length: 12 }, (_, index) => nameOf(index)), 'bounce@example.com', 'complaint@example.com']
  await post('/v1/send', { to, from, subject: 'Your receipt for November', body: '<p>Thank you, {{plan}}.</p>' }, withSecret)
  return { firstContact: (await post('/contacts', { email: nameOf(0) }, asUser)) as { id: string } }
}
