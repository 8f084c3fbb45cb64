import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { connect, many, type Pool } from '../../src/db/index.ts'
import { newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/log.ts'
import { cloneDatabase } from './database.ts'
import { type Running, startNode } from './process.ts'
import { startSmtpServer } from './smtp-server.ts'
import { until } from './until.ts'

export const FROM = 'news@shop.example'

type Sink = Awaited<ReturnType<typeof startSmtpServer>>
type Project = { id: string; secret: string }
type Row = {
  state: string
  error: string | null
  attempts: number
  failures: number
  worker: number | null
  marked: boolean
  bounced: boolean
}

/** An API process, an SMTP server, and worker processes that a test starts and that end with it. Call at the top level. */
export function useSmtpSending() {
  const sink = {} as Sink
  const project = {} as Project
  let database: Awaited<ReturnType<typeof cloneDatabase>>
  const sterna = {} as { db: Pool }
  let node: Running
  let cookie: string

  beforeAll(async () => {
    Object.assign(sink, await startSmtpServer())
    database = await cloneDatabase()
    sterna.db = connect({ url: database.url, max: 4, log: createLog('silent') })
    node = await startNode({ ...envFor(), ROLE: 'api' })
    const signedUp = await post('/auth/signup', { email: 'owner@example.com', password: 'correct horse' })
    cookie = signedUp.headers.get('set-cookie')!.split(';')[0]!
    Object.assign(project, await newProject('shop.example'))
  })
  afterAll(async () => {
    await stopWorkers()
    await node?.stop()
    await sterna.db?.destroy()
    await sink.stop?.()
    await database?.drop()
  })

  const envFor = (url = sink.url) => ({ DATABASE_URL: database.url, SMTP_URL: url, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' })
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(node.url + path, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })

  async function newProject(domain: string): Promise<Project> {
    const made = (await (await post('/users/@me/projects', { name: 'Shop' }, { cookie })).json()) as Project
    const added = await post('/domains', { domain }, { authorization: `Bearer ${made.secret}` })
    expect(added.status).toBe(201)
    await sql`
      update domains set status = 'verified', verified_by = 'dns', verified_at = now(), next_check_at = 'infinity'
      where project_id = ${made.id}
    `.execute(sterna.db)
    return made
  }

  const workers: Running[] = []
  async function startWorker(env: Record<string, string> = {}) {
    const worker = await startNode({ ...envFor(), ROLE: 'worker', ...env })
    workers.push(worker)
    return worker
  }
  const stopWorkers = () => Promise.all(workers.splice(0).map((worker) => worker.stop()))
  afterEach(async () => {
    // A worker would wait for answers that never come.
    sink.reset()
    await stopWorkers()
    sink.outage.refusal = undefined
    await sql`update emails set state = 'cancelled' where state in ('queued', 'deferred')`.execute(sterna.db)
  })

  async function send(to: string | string[], { from = FROM, key = project.secret } = {}): Promise<string[]> {
    const answer = await post('/v1/send', { to, from, subject: 'Hi', body: '<p>Hello</p>' }, { authorization: `Bearer ${key}` })
    const { data } = (await answer.json()) as { data: { emails: { email: string }[] } }
    return data.emails.map(({ email }) => email)
  }

  const rowsOf = (ids: string[]) =>
    many(
      sterna.db,
      sql<Row>`
        select state, error, attempts, failures, worker, handed_over_at is not null as marked, bounced_at is not null as bounced
        from emails where id = any(${ids}::uuid[]) order by id
      `,
    )
  const statesOf = async (ids: string[]) => (await rowsOf(ids)).map(({ state }) => state)
  const inState = (ids: string[], state: string, withinMs?: number) =>
    until(`all are ${state}`, async () => (await statesOf(ids)).every((each) => each === state), withinMs)
  const copiesOf = (id: string) => sink.messages.filter((message) => message.id === id)

  return {
    sink,
    project,
    sterna,
    envFor,
    post,
    newProject,
    workers,
    startWorker,
    send,
    rowsOf,
    statesOf,
    inState,
    copiesOf,
  }
}

export const addresses = (how: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${how}+${index}.${newId()}@example.com`)
