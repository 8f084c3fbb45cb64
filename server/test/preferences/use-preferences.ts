import { sql } from 'kysely'
import { beforeAll, expect } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { type Answer, useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'

export const ENV = { RATE_LIMIT_PER_MINUTE: '0', TRUST_PROXY: '127.0.0.1', PUBLIC_URL: 'https://mail.example' }
const ADA = 'ada@example.com'
export const PURPOSES = ['unsubscribe', 'subscribe', 'manage'] as const
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'nl', 'pt', 'pl', 'ja', 'zh'] as const
export const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
export const ONE_CLICK = 'List-Unsubscribe=One-Click'

export const pathOf = (url: string) => url.replace('https://mail.example', '')
export const titleOf = ({ body }: Answer) => /<h1>(.*?)<\/h1>/.exec(body)?.[1]
export const tokenOf = (url: string) => url.slice(url.lastIndexOf('/') + 1)

const boundary = 'xyz'
export const multipart = (name: string, value: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--${boundary}--\r\n`
export const MULTIPART = { 'content-type': `multipart/form-data; boundary=${boundary}` }
export const JSON_TYPE = { 'content-type': 'application/json' }

type Message = { type?: 'MARKETING' | 'HEADLESS' | 'TRANSACTIONAL'; body?: string; to?: string; headers?: Record<string, string> }
export type Contact = { id: string; email: string; subscribed: boolean }

const UNCOUNTED = { except: ['attempts'] }

/** An app with a project, and requests to preference links. Call at the top level. */
export function usePreferences() {
  const sterna = useApp({ env: ENV })

  /** A new network for each request: wrong links are limited per network. */
  let ips = 0
  const fromNewIp = () => ({ 'x-forwarded-for': `10.9.${Math.floor(++ips / 250)}.${ips % 250}` })
  const open = (url: string, headers: Record<string, string> = {}) =>
    sterna.call('GET', pathOf(url), { headers: { ...fromNewIp(), ...BROWSER, ...headers } })
  const post = (url: string, payload?: string | Buffer, headers: Record<string, string> = {}) =>
    sterna.call('POST', pathOf(url), {
      ...(payload === undefined ? {} : { body: payload.toString() }),
      headers: { ...fromNewIp(), ...BROWSER, ...headers },
    })

  let projects = 0

  /** A project with a verified domain, without link tracking. */
  async function newProject({ at = sterna }: { at?: Pick<typeof sterna, 'call' | 'newProject'> } = {}) {
    const { id, sk, owner } = await at.newProject()
    const domain = `project${++projects}.example`
    // Tracked links would be rewritten.
    await owner.call('PATCH', `/users/@me/projects/${id}`, { body: { name: 'Test', tracking: 'DISABLED' } })
    const call = (method: string, url: string, body?: unknown) => at.call(method, url, { key: sk, ...(body === undefined ? {} : { body }) })
    await call('POST', '/domains', { domain })
    const template = async ({ type = 'MARKETING', body = '<p>News</p>' }: Message): Promise<string> => {
      const content = { name: 'T', subject: 'News', body, from: `news@${domain}`, type: type === 'HEADLESS' ? 'MARKETING' : type }
      const created = (await call('POST', '/templates', content)).body.id
      if (type === 'HEADLESS') await call('PATCH', `/templates/${created}`, { type })
      return created
    }
    const send = async ({ to = ADA, headers = {}, ...message }: Message & { subscribed?: boolean }) =>
      call('POST', '/v1/send', { to, template: await template(message), subscribed: true, headers })
    const email = async (emailId: string) => (await call('GET', `/emails/${emailId}`)).body
    const source = async (emailId: string): Promise<string> => {
      await eventually(async () => expect((await email(emailId)).status).toBe('SENT'))
      const message = await one(sterna.db, sql<{ id: string }>`select id from sandbox_messages where email_id = ${emailId}`)
      return (await call('GET', `/sandbox/messages/${message.id}`)).body.source
    }
    const linksFor = async ({ id: contactId }: Contact): Promise<Record<(typeof PURPOSES)[number], string>> => {
      const preview = await call(
        'POST',
        `/templates/${await template({ body: '{{unsubscribeUrl}} {{subscribeUrl}} {{manageUrl}}' })}/preview`,
        {
          contactId,
        },
      )
      const [unsubscribe, subscribe, manage] = preview.body.html.split(' ')
      return { unsubscribe, subscribe, manage }
    }
    return {
      id,
      sk,
      owner,
      domain,
      call,
      template,
      send,
      email,
      source,
      /** Sends an email and returns its message. */
      deliver: async (message: Message) => source((await send(message)).body.data.emails[0].email),
      linksFor,
      contact: async (body: object = {}): Promise<Contact> =>
        (await call('POST', '/contacts', { email: ADA, subscribed: true, ...body })).body,
      isSubscribed: async ({ id: contactId }: Contact): Promise<boolean> => (await call('GET', `/contacts/${contactId}`)).body.subscribed,
      events: async (): Promise<string[]> =>
        (await call('GET', '/events?limit=100')).body.data.map(({ name }: { name: string }) => name).toReversed(),
      consents: async (contactId: string): Promise<[boolean, string][]> =>
        (await call('GET', `/contacts/${contactId}/consent`)).body.data.map((each: { subscribed: boolean; source: string }) => [
          each.subscribed,
          each.source,
        ]),
      change: (body: object) => owner.call('PATCH', `/users/@me/projects/${id}`, { body }),
    }
  }

  type Project = Awaited<ReturnType<typeof newProject>>
  const project = {} as Project
  beforeAll(async () => {
    Object.assign(project, await newProject())
  })

  /** A contact of the project with a new address, and its links. */
  let contacts = 0
  async function newContact(more: object = {}, at: Project = project) {
    const contact = await at.contact({ email: `contact${++contacts}@example.com`, ...more })
    return { contact, links: await at.linksFor(contact) }
  }

  async function expectNothingChanged(work: () => Promise<unknown>) {
    await eventually(async () => expect(await many(sterna.db, sql`select 1 from emails where state in ('queued', 'sending')`)).toEqual([]))
    const before = await sterna.digest(UNCOUNTED)
    await work()
    expect(await sterna.digest(UNCOUNTED)).toBe(before)
  }

  return { sterna, fromNewIp, open, post, newProject, project, newContact, expectNothingChanged }
}
