import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import PostalMime, { type Email as Parsed } from 'postal-mime'
import { afterAll, beforeAll, expect } from 'vitest'
import { many, one } from '../../../src/db/index.ts'
import { issues, outcome } from '../answers.ts'
import { type Answer, startApp, useApp } from '../app.ts'
import { eventually } from '../eventually.ts'
import { newProject, type SendingProject } from '../project.ts'

export const ADA = 'ada@example.com'
export const BOB = 'bob@example.com'
export const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
export const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
export const ENV = { RATE_LIMIT_PER_MINUTE: '0' }
/** Tables that change without a request: failed attempts per address, and running nodes. */
const UNCOUNTED = { except: ['attempts'] }

export const times = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))
export const base64 = (text: string) => Buffer.from(text).toString('base64')
export const file = (more: object = {}) => ({ filename: 'a.txt', content: base64('hello'), contentType: 'text/plain', ...more })

type Sterna = ReturnType<typeof useApp>
type Options = { key?: string; at?: Pick<Sterna, 'call'>; sk?: string }
export type Email = { id: string; status: string; error: string | null; to: string; [key: string]: unknown }
type Event = { name: string; data: Record<string, unknown>; emailId: string | null; contactId: string | null }
export type Project = Awaited<ReturnType<ReturnType<typeof createNewProject>>>

/** An app whose projects send to the sandbox, for the tests of POST /v1/send. Call at the top level, as `useApp`. */
export function useSending() {
  const sterna = useApp({ env: ENV })
  const newProject = createNewProject(sterna)
  /** A project whose requests are refused: nothing is written for it. */
  const quiet = {} as Project
  /** A project whose emails arrive. */
  const busy = {} as Project
  beforeAll(async () => {
    Object.assign(quiet, await newProject())
    Object.assign(busy, await newProject())
  })

  /** Compares the whole database: not one contact, content, attachment or key may be left behind. */
  async function expectNothingOf(work: () => Promise<unknown>) {
    const unfinished = () => many(sterna.db, sql`select 1 from emails where state in ('queued', 'sending')`)
    await eventually(async () => expect(await unfinished()).toEqual([]))
    const before = await sterna.digest(UNCOUNTED)
    await work()
    expect(await sterna.digest(UNCOUNTED)).toBe(before)
  }

  /** Sends each body and expects it to be refused for the given fields. */
  const expectRefused = (cases: [string, object, [field: string, code: string][]][]) =>
    expectNothingOf(async () => {
      for (const [what, more, fields] of cases) {
        const answer = await quiet.send(more, { key: randomUUID() })
        expect([what, outcome(answer), issues(answer)]).toEqual([what, [422, 'VALIDATION_ERROR'], fields])
      }
    })

  return { sterna, newProject, quiet, busy, expectNothingOf, expectRefused }
}

/** Another node on the same database. */
export function useSecondNode(sterna: Sterna) {
  const second = {} as Awaited<ReturnType<typeof startApp>>
  beforeAll(async () => {
    Object.assign(second, await startApp(sterna.url, { env: ENV }))
  })
  afterAll(() => second.close())
  return second
}

/** Keeps the emails of a project in the queue until they are released. */
export function useHeldEmails(sterna: Sterna) {
  beforeAll(async () => {
    await sql`create table held (project_id uuid primary key)`.execute(sterna.db)
    await sql`
      create function hold_back() returns trigger language plpgsql as $$ begin
        if new.state = 'queued' and exists (select from held h where h.project_id = new.project_id) then new.state := 'deferred'; end if;
        return new;
      end $$
    `.execute(sterna.db)
    await sql`create trigger hold_back before insert on emails for each row execute function hold_back()`.execute(sterna.db)
  })

  async function hold(project: Project) {
    await sql`insert into held values (${project.id})`.execute(sterna.db)
  }

  async function release(project: Project) {
    await sql`delete from held where project_id = ${project.id}`.execute(sterna.db)
    await sql`update emails set state = 'queued' where project_id = ${project.id} and state = 'deferred'`.execute(sterna.db)
    await sql`select pg_notify('sterna_emails', '')`.execute(sterna.db)
  }

  return { hold, release }
}

function createNewProject(sterna: Sterna) {
  /** A project with a domain of its own. */
  return async ({ name }: { name?: string } = {}) => {
    const project = await newProject(sterna).sending().with(sendRequests)
    if (name) await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { name } })
    return project
  }
}

/** Requests about what POST /v1/send does. */
function sendRequests(
  { id, sk, call, sendBody, ended, events, contacts, idempotencyKeys }: SendingProject,
  { db, ...here }: Pick<Sterna, 'call' | 'db'>,
) {
  const send = (more: object = {}, { key, at = here, sk: given = sk }: Options = {}): Promise<Answer> =>
    at.call('POST', '/v1/send', { key: given, body: sendBody(more), headers: key === undefined ? {} : { 'idempotency-key': key } })
  const source = async (emailId: string): Promise<string> => {
    const { id: messageId } = await one(db, sql<{ id: string }>`select id from sandbox_messages where email_id = ${emailId}`)
    return (await call('GET', `/sandbox/messages/${messageId}`)).body.source
  }
  return {
    send,
    source,
    call: (method: string, url: string, body?: unknown) => call(method, url, body),
    /** Sends one email and parses the message that arrives. */
    async deliver(more: object = {}): Promise<Parsed> {
      const answer = await send(more)
      expect(outcome(answer)).toEqual([200])
      const [sent] = await ended(answer)
      expect([sent.status, sent.error]).toEqual(['SENT', null])
      return PostalMime.parse(await source(sent.id))
    },
    contact: (address = ADA) => contacts.find(address),
    contacts: () => contacts.list('?limit=100'),
    events: (): Promise<Event[]> => events.list() as unknown as Promise<Event[]>,
    names: events.names,
    consents: () =>
      many(db, sql<{ subscribed: boolean; source: string }>`select subscribed, source from consents where project_id = ${id}`),
    keys: async () => (await idempotencyKeys()).length,
  }
}
