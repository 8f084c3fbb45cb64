import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { beforeAll, beforeEach, expect } from 'vitest'
import { openSession } from '../../../src/auth/sessions.ts'
import { many, transact } from '../../../src/db/index.ts'
import type { useSharedApp } from '../app.ts'
import { eventually } from '../eventually.ts'
import { nameOf, type Operation } from './described-api.ts'

type Sterna = ReturnType<typeof useSharedApp>
type Project = Awaited<ReturnType<Sterna['newProject']>>
/** For each kind of resource in a path: one id of the own project and one of the other. */
type Ids = Record<string, { own: string; foreign: string }>

/** Names instead of ids: any text may exist in either project. */
export const FREE_TEXT = { fields: { own: 'plan', foreign: 'plan' }, events: { own: 'signup', foreign: 'signup' } }

/** The path segment before a parameter names its resource: `/projects/{id}`. */
export const resourceOf = (path: string, parameter: string) => path.split('/')[path.split('/').indexOf(`{${parameter}}`) - 1]!

/** Two projects with one of every resource that a path can name. Call at the top level; the fields are set before the first test. */
export function useTwoProjects(sterna: Sterna) {
  const setting = { credentials, fill } as { mine: Project; theirs: Project; ids: Ids; credentials: typeof credentials; fill: typeof fill }

  beforeAll(async () => {
    const mine = await sterna.newProject()
    const theirs = await sterna.newProject()
    const [guest, other] = await Promise.all([sterna.newPerson({ verified: true }), sterna.newPerson({ verified: true })])
    const setUp = async (project: Project, email: string) => {
      const { owner, id } = project
      await owner.call('POST', `/projects/${id}/members`, { body: { email, role: 'MEMBER' } })
      await owner.call('POST', `/projects/${id}/members`, { body: { email: `invited-${email}`, role: 'MEMBER' } })
      return (await owner.call('GET', `/projects/${id}/invitations`)).body[0].id as string
    }
    const invitations = { own: await setUp(mine, guest.email), foreign: await setUp(theirs, other.email) }
    const job = async (project: Project, contactId: string) =>
      (await sterna.call('POST', '/contacts/bulk-subscribe', { key: project.sk, body: { contactIds: [contactId] } })).body.jobId as string
    const exported = async ({ sk }: Project) => (await sterna.call('POST', '/contacts/export', { key: sk, body: {} })).body.jobId as string
    const contact = async ({ sk }: Project) =>
      (await sterna.call('POST', '/contacts', { key: sk, body: { email: 'contact@example.com', data: { plan: 'pro' } } })).body.id as string
    const domain = async ({ sk }: Project, name: string) =>
      (await sterna.call('POST', '/domains', { key: sk, body: { domain: name } })).body.id as string
    const suppression = async ({ sk }: Project, address: string) =>
      (await sterna.call('POST', '/suppressions', { key: sk, body: { address } })).body.address as string
    const contacts = { own: await contact(mine), foreign: await contact(theirs) }
    const template = async ({ sk }: Project, from: string) =>
      (await sterna.call('POST', '/templates', { key: sk, body: { name: 'Hi', subject: 'Hi', body: 'Hi', type: 'MARKETING', from } })).body
        .id as string
    const segment = async ({ sk }: Project) =>
      (await sterna.call('POST', '/segments', { key: sk, body: { name: 'List', type: 'STATIC' } })).body.id as string
    const campaign = async ({ sk }: Project, from: string) =>
      (await sterna.call('POST', '/campaigns', { key: sk, body: { name: 'News', subject: 'Hi', body: 'Hi', from, audienceType: 'ALL' } }))
        .body.data.id as string
    /** A workflow with a step, a transition to it, an EXIT that nothing leads to, and an execution that waits at the step. */
    const workflow = async ({ sk }: Project, contactId: string) => {
      const post = async (path: string, body: object) => (await sterna.call('POST', path, { key: sk, body })).body
      const { id, steps } = await post('/workflows', { name: 'Welcome', eventName: 'welcome' })
      const step = await post(`/workflows/${id}/steps`, { type: 'DELAY', config: { amount: 1, unit: 'days' } })
      const exit = await post(`/workflows/${id}/steps`, { type: 'EXIT' })
      const transition = await post(`/workflows/${id}/transitions`, { fromStepId: steps[0].id, toStepId: step.id })
      await sterna.call('PATCH', `/workflows/${id}`, { key: sk, body: { enabled: true } })
      const execution = await post(`/workflows/${id}/executions`, { contactId })
      return { workflows: id, steps: step.id, exits: exit.id, transitions: transition.id, executions: execution.id } as Record<
        string,
        string
      >
    }
    const workflows = async () => {
      const [own, foreign] = [await workflow(mine, contacts.own), await workflow(theirs, contacts.foreign)]
      return Object.fromEntries(Object.keys(own).map((kind) => [kind, { own: own[kind]!, foreign: foreign[kind]! }]))
    }
    const emails = async () => {
      const senders = { own: [mine, 'mine.example'], foreign: [theirs, 'theirs.example'] } as const
      const made = Object.entries(senders).map(async ([whose, [{ sk }, name]]) => {
        const body = { to: 'contact@example.com', from: `hello@${name}`, subject: 'Hi', body: 'Hi' }
        await sterna.call('POST', '/v1/send', { key: sk, body })
        const message = await eventually(async () => {
          const [first] = (await sterna.call('GET', '/sandbox/messages', { key: sk })).body.data
          expect(first).toBeDefined()
          return first as { id: string; emailId: string }
        })
        return [whose, message] as const
      })
      const { own, foreign } = Object.fromEntries(await Promise.all(made)) as Record<'own' | 'foreign', { id: string; emailId: string }>
      return { emails: { own: own.emailId, foreign: foreign.emailId }, messages: { own: own.id, foreign: foreign.id } }
    }
    /** An endpoint whose requests are refused at once, without a connection, and a delivery of it that failed. */
    const endpoint = async ({ id, sk }: Project) => {
      const body = { url: 'https://hooks.example.com', events: ['event.never'] }
      const endpointId = (await sterna.call('POST', '/webhook-endpoints', { key: sk, body })).body.id as string
      await sql`update webhook_endpoints set url = 'http://127.0.0.1/' where id = ${endpointId}`.execute(sterna.db)
      const delivery = randomUUID()
      await sql`
        insert into webhook_deliveries (project_id, id, endpoint_id, message_id, type, status)
        values (${id}, ${delivery}, ${endpointId}, ${delivery}, 'event.never', 'failed')
      `.execute(sterna.db)
      return { endpointId, delivery }
    }
    const apiKey = async ({ id, owner }: Project) =>
      (await owner.call('POST', `/projects/${id}/keys`, { body: { name: 'Key', kind: 'secret', scopes: ['read'] } })).body.id as string
    const endpoints = { own: await endpoint(mine), foreign: await endpoint(theirs) }
    const ids = {
      projects: { own: mine.id, foreign: theirs.id },
      members: { own: guest.id, foreign: other.id },
      invitations,
      contacts,
      contact: contacts,
      bulk: { own: await job(mine, contacts.own), foreign: await job(theirs, contacts.foreign) },
      jobs: { own: await job(mine, contacts.own), foreign: await job(theirs, contacts.foreign) },
      export: { own: await exported(mine), foreign: await exported(theirs) },
      // There are no imports: the other project's is as unknown as any other.
      import: { own: randomUUID(), foreign: randomUUID() },
      // Images are public: no foreign one exists, only a missing one.
      uploads: { own: `${'0'.repeat(40)}.png`, foreign: `${'1'.repeat(40)}.png` },
      domains: { own: await domain(mine, 'mine.example'), foreign: await domain(theirs, 'theirs.example') },
      project: { own: mine.id, foreign: theirs.id },
      segments: { own: await segment(mine), foreign: await segment(theirs) },
      explain: contacts,
      templates: { own: await template(mine, 'hello@mine.example'), foreign: await template(theirs, 'hello@theirs.example') },
      campaigns: { own: await campaign(mine, 'hello@mine.example'), foreign: await campaign(theirs, 'hello@theirs.example') },
      // Numbers of versions: those of a foreign template are behind its id.
      versions: { own: '1', foreign: '99' },
      ...(await emails()),
      ...(await workflows()),
      keys: { own: await apiKey(mine), foreign: await apiKey(theirs) },
      recipes: { own: 'welcome', foreign: 'unknown' },
      'webhook-endpoints': { own: endpoints.own.endpointId, foreign: endpoints.foreign.endpointId },
      deliveries: { own: endpoints.own.delivery, foreign: endpoints.foreign.delivery },
      suppressions: {
        own: await suppression(mine, 'own@suppressed.example'),
        foreign: await suppression(theirs, 'foreign@suppressed.example'),
      },
      // No project is suspended.
      suspensions: { own: randomUUID(), foreign: randomUUID() },
      // Sessions belong to a person: there is none of either project.
      sessions: { own: '0'.repeat(32), foreign: '1'.repeat(32) },
      ...FREE_TEXT,
    }
    await eventually(async () => {
      const open = await many(sterna.db, sql`select 1 from jobs where finished_at is null`)
      expect(open).toEqual([])
      expect(await many(sterna.db, sql`select 1 from workflow_executions where status = 'RUNNING'`)).toEqual([])
    })
    Object.assign(setting, { mine, theirs, ids })
  })

  // All tests together exceed the requests per minute of one session.
  beforeEach(async () => {
    const req = { ip: '127.0.0.1', headers: {} } as FastifyRequest // openSession reads only these
    setting.mine.owner.cookie = `sterna_session=${await transact(sterna.db, (tx) => openSession(tx, sterna.secrets, { userId: setting.mine.owner.id, req }))}`
  })

  function credentials({ security }: Operation): Record<string, string> {
    const { mine } = setting
    // Prefer the key: it has no limit here, a session has 3,000 calls a minute.
    if (security.includes('secretKey')) return { authorization: `Bearer ${mine.sk}` }
    if (security.includes('session')) return { cookie: mine.owner.cookie, 'x-project-id': mine.id }
    return security.includes('publicKey') ? { authorization: `Bearer ${mine.pk}` } : {}
  }

  function fill(operation: Operation, override: Record<string, string> = {}) {
    return operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const known = setting.ids[resourceOf(operation.path, name)]
      if (!known) throw new Error(`${nameOf(operation)}: add the resource of {${name}} to two-projects.ts`)
      return override[name] ?? known.own
    })
  }

  return setting
}
