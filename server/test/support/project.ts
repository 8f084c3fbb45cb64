import { sql } from 'kysely'
import { expect } from 'vitest'
import { many, maybeScalar, one, type Pool } from '../../src/db/index.ts'
import { STATUS } from '../../src/delivery/emails/filter.ts'
import { outcome } from './answers.ts'
import type { Answer, Call, createSterna } from './app.ts'
import { eventually } from './eventually.ts'
import { MULTIPART, multipart, type Part } from './files/multipart.ts'
import { times } from './times.ts'

export type Contact = {
  id: string
  email: string
  subscribed: boolean
  data: Record<string, unknown> | null
  createdAt: string
  updatedAt: string
}
type Event = { id: string; name: string; data: Record<string, unknown>; contactId: string | null }
type Node = { call(method: string, url: string, options?: Call): Promise<Answer> }
type Keys = { id: string; pk: string; sk: string }
type TrackOptions = { key?: string; at?: Node; pk?: string; headers?: Record<string, string> }

/** The longest imports of tests take a second on an idle machine, and on a busy one fifty times as long. */
const JOB_TIMEOUT_MS = 150_000

/** The requests that tests make on behalf of one project, with its keys. */
export function projectClient({ call: callWith, db }: Node & { db: Pool }, { id, pk, sk }: Keys) {
  const call = (method: string, url: string, body?: unknown, headers: Record<string, string> = {}) =>
    callWith(method, url, { key: sk, headers, ...(body === undefined ? {} : { body }) })
  const idempotency = (key: string | undefined): Record<string, string> => (key === undefined ? {} : { 'idempotency-key': key })

  /** `at` is another node on the same database, `pk` another key than the project's. */
  const track = (body: unknown, { key, at, pk: otherKey, headers = {} }: TrackOptions = {}) =>
    (at?.call ?? callWith)('POST', '/v1/track', { key: otherKey ?? pk, body, headers: { ...idempotency(key), ...headers } })

  const send = (body: unknown, { key }: { key?: string } = {}) => call('POST', '/v1/send', body, idempotency(key))

  /** Waits until a job has ended and returns its status. Reads the row meanwhile: a status may have thousands of errors. */
  async function finished(kind: 'import' | 'bulk', jobId: string): Promise<Answer['body']> {
    const ended = sql`select 1 from jobs where project_id = ${id} and id = ${jobId} and finished_at is not null`
    await expect.poll(() => many(db, ended), { timeout: JOB_TIMEOUT_MS, interval: 40 }).toHaveLength(1)
    const { body } = await call('GET', `/contacts/${kind}/${jobId}`)
    expect(body.finishedAt).toEqual(expect.any(String))
    return body
  }

  async function completeJob(kind: 'import' | 'bulk', { status, body }: Answer) {
    expect([status, body]).toEqual([202, { message: expect.any(String), jobId: expect.any(String) }])
    const job = await finished(kind, body.jobId)
    expect(job.state).toBe('completed')
    return { jobId: body.jobId as string, ...job }
  }

  const upload = (csv: string | Buffer, part: Part = {}) =>
    call('POST', '/contacts/import', multipart([{ content: csv, ...part }]), MULTIPART)

  const contacts = {
    create: async (email: string, more: object = {}): Promise<Contact> => (await call('POST', '/contacts', { email, ...more })).body,
    get: async (contactId: string): Promise<Contact> => (await call('GET', `/contacts/${contactId}`)).body,
    update: (contactId: string, patch: object) => call('PATCH', `/contacts/${contactId}`, patch),
    list: async (query = ''): Promise<Answer['body']> => (await call('GET', `/contacts${query}`)).body,
    find: async (email: string): Promise<Answer['body']> =>
      (await contacts.list('?limit=100')).data.find((contact: Contact) => contact.email === email),
    emails: async (query = ''): Promise<string[]> => (await contacts.list(query)).data.map(({ email }: Contact) => email),
    /** Imports `c0@example.com` and so on; returns the ids ordered by address. */
    createMany: async (count: number): Promise<string[]> => {
      await contacts.import(['email', ...times(count, (n) => `c${n}@example.com`)].join('\n'))
      return (await contacts.rows()).map((row) => row.id)
    },
    rows: () =>
      many(
        db,
        sql<Omit<Contact, 'createdAt' | 'updatedAt'>>`
          select id, email, subscribed, data from contacts where project_id = ${id} order by email
        `,
      ),
    /** The counts of the ledger. */
    counts: () =>
      one(
        db,
        sql`
          select coalesce(sum(total), 0)::int as total, coalesce(sum(subscribed), 0)::int as subscribed
          from (
            select total, subscribed from contact_counts where project_id = ${id}
            union all select total, subscribed from contact_count_deltas where project_id = ${id}) as counted
        `,
      ),
    consents: () =>
      many(
        db,
        sql<{ subscribed: boolean; source: string; details: Record<string, unknown> }>`
          select subscribed, source, details from consents where project_id = ${id} order by id
        `,
      ),
    upload,
    /** Uploads a file and returns the status of the completed job. */
    import: async (csv: string | Buffer) => completeJob('import', await upload(csv)),
    bulk: async (operation: string, selection: object) => completeJob('bulk', await call('POST', `/contacts/bulk-${operation}`, selection)),
  }

  const events = {
    list: async (query = ''): Promise<Event[]> => (await call('GET', `/events?limit=100${query}`)).body.data,
    /** Newest first. */
    names: async (): Promise<string[]> => (await events.list()).map(({ name }) => name),
    /** Oldest first. */
    namesOf: async (contactId: string) => {
      const rows = await many(
        db,
        sql<{ name: string }>`select name from events where project_id = ${id} and contact_id = ${contactId} order by id`,
      )
      return rows.map(({ name }) => name)
    },
    /** `<address> <event name>`, sorted. */
    byEmail: async () => {
      const rows = await many(
        db,
        sql<{ event: string }>`
          select c.email || ' ' || e.name as event from events e join contacts c on c.project_id = e.project_id and c.id = e.contact_id
          where e.project_id = ${id}
        `,
      )
      return rows.map(({ event }) => event).sort()
    },
    count: async () => (await one(db, sql<{ n: number }>`select count(*)::int as n from events where project_id = ${id}`)).n,
  }

  const idempotencyKeys = async () => {
    const rows = await many(db, sql<{ key: string }>`select key from idempotency_keys where project_id = ${id} order by key`)
    return rows.map(({ key }) => key)
  }

  return { id, pk, sk, call, track, send, finished, contacts, events, idempotencyKeys }
}

type Sterna = Pick<ReturnType<typeof createSterna>, 'call' | 'db' | 'newPerson' | 'sharedOwner' | 'newProject'>
type Owner = Awaited<ReturnType<Sterna['newPerson']>>
type Extended<Project, More> = Omit<Project, keyof More> & More
/** `with` adds requests about one feature, such as `campaigns`. */
type Building<Project> = PromiseLike<Project> & {
  with<Result>(part: (project: Project, sterna: Sterna) => Result): Building<Extended<Project, Awaited<Result>>>
}

/** A project of an owner, or of one whom many projects share. It is made when it is awaited: `await newProject(sterna).sending().with(campaigns)`. */
export function newProject(sterna: Sterna, owner?: Owner | Promise<Owner>) {
  const project = build(sterna, async () => sterna.newProject(await (owner ?? sterna.sharedOwner())))
  return { ...project, sending: () => project.with(sending) }
}

function build<Project>(sterna: Sterna, make: () => Promise<Project>): Building<Project> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: awaiting it makes the project
    then: (done, failed) => make().then(done, failed),
    with: <Result>(part: (project: Project, sterna: Sterna) => Result) =>
      build(sterna, async () => {
        const project = await make()
        return { ...project, ...(await part(project, sterna)) } as Extended<Project, Awaited<Result>>
      }),
  }
}

export type PlainProject = Awaited<ReturnType<Sterna['newProject']>>
export type SendingProject = Extended<PlainProject, Awaited<ReturnType<typeof sending>>>
let domains = 0

/** A project that sends, of an owner of its own. */
export const newSendingProject = (sterna: Sterna, owner: Owner | Promise<Owner> = sterna.newPerson()) => newProject(sterna, owner).sending()

/** A verified domain, no link tracking, and requests about emails, which end in the sandbox. */
async function sending({ id: projectId, call, owner, send: sendAny }: PlainProject, { db }: { db: Pool }) {
  // Without rewritten links: tests compare what arrives with what was given.
  await owner.call('PATCH', `/users/@me/projects/${projectId}`, { body: { tracking: 'DISABLED' } })
  const domain = `sender${++domains}.example`
  const { id: domainId } = (await call('POST', '/domains', { domain })).body as { id: string }
  const sendBody = (more: object = {}) => ({ to: 'ada@example.com', from: `hello@${domain}`, subject: 'Hi', body: '<p>Hi</p>', ...more })
  const send = (more: object = {}, options: { key?: string } = {}) => sendAny(sendBody(more), options)
  const email = async (id: string): Promise<Answer['body']> => (await call('GET', `/emails/${id}`)).body
  const isEnded = (status: string | undefined) => status !== 'PENDING' && status !== 'SENDING'
  /** Reads the status alone meanwhile: the answer of the route takes ten times the work. */
  async function whenEnded(id: string): Promise<Answer['body']> {
    const status = () => maybeScalar<string>(db)`select ${STATUS} from emails e where project_id = ${projectId} and id = ${id}`
    await eventually(async () => expect(await status()).toSatisfy(isEnded))
    const found = await email(id)
    expect(found.status).toSatisfy(isEnded)
    return found
  }
  /** The emails of an answer, once they have ended. One after the other: by requests about a hundred at once the worker would get nothing done. */
  async function ended(answer: Answer): Promise<Answer['body'][]> {
    const found = []
    for (const each of answer.body.data.emails as { email: string }[]) found.push(await whenEnded(each.email))
    return found
  }
  return {
    domain,
    domainId,
    sendBody,
    send,
    email,
    ended,
    template: async (more: object = {}): Promise<string> => {
      const content = { name: 'T', subject: 'Of the template', body: '<p>template</p>', type: 'TRANSACTIONAL' }
      const answer = await call('POST', '/templates', { ...content, ...more })
      expect(outcome(answer)).toEqual([201])
      return answer.body.id
    },
    /** Sends to one recipient and waits until the email has ended. */
    async sent(more: object = {}): Promise<Answer['body']> {
      const answer = await send(more)
      expect(outcome(answer)).toEqual([200])
      return (await ended(answer))[0]
    },
    /** The message of an email in the sandbox. */
    async source(emailId: string): Promise<string> {
      const { data } = (await call('GET', '/sandbox/messages?limit=100')).body
      const { id } = data.find((each: { emailId: string }) => each.emailId === emailId)
      return (await call('GET', `/sandbox/messages/${id}`)).body.source
    },
  }
}

/** As if DNS had proven them: a sandbox verifies domains by itself, another transport does not. */
export const verifyDomains = (db: Pool, projectId: string) =>
  sql`
    update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity' where project_id = ${projectId}
  `.execute(db)
