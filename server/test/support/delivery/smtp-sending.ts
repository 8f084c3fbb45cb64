import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { many } from '../../../src/db/index.ts'
import type { SenderTiming } from '../../../src/delivery/sender/timing.ts'
import { newId } from '../../../src/lib/id.ts'
import { cloneDatabase } from '../database.ts'
import { until } from '../eventually.ts'
import { type LocalNode, startLocalNode } from '../local-node.ts'
import { type Running, startNode } from '../process.ts'
import { verifyDomains } from '../project.ts'
import { startSmtpServer } from '../servers/smtp-server.ts'

export const FROM = 'news@shop.example'

type Sink = Awaited<ReturnType<typeof startSmtpServer>>
type Project = { id: string; sk: string }
type Owner = Awaited<ReturnType<LocalNode['newPerson']>>
type Row = {
  state: string
  error: string | null
  attempts: number
  failures: number
  worker: number | null
  marked: boolean
  bounced: boolean
}

/**
 * An API node, an SMTP server, and worker processes. With `sharedWorker` one worker serves all tests of the file; those that a test starts
 * end with it. Call at the top level.
 */
export function useSmtpSending({ sharedWorker = false } = {}) {
  const sterna = {} as LocalNode
  const sink = {} as Sink
  const project = {} as Project
  let database: Awaited<ReturnType<typeof cloneDatabase>>
  let shared: LocalNode | undefined

  beforeAll(async () => {
    Object.assign(sink, await startSmtpServer())
    database = await cloneDatabase()
    Object.assign(sterna, await startLocalNode({ ...environment(), ROLE: 'api' }))
    Object.assign(project, await newProject('shop.example'))
    if (sharedWorker) shared = await startLocalNode({ ...environment(), ROLE: 'worker' })
  })
  afterAll(async () => {
    await shared?.stop()
    await sterna.stop?.()
    await sink.stop?.()
    await database?.drop()
  })

  const environment = () => ({ DATABASE_URL: database.url, SMTP_URL: sink.url, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'warn' })

  /** With an owner of its own, or another one of `of`. */
  async function newProject(domain: string, of?: Owner): Promise<Project & { owner: Owner }> {
    const { id, sk, owner } = await sterna.newProject(of)
    const added = await sterna.call('POST', '/domains', { key: sk, body: { domain } })
    expect(added.status).toBe(201)
    await verifyDomains(sterna.db, id)
    return { id, sk, owner }
  }

  const workers: Running[] = []
  async function startWorker(env: Record<string, string> = {}) {
    const worker = await startNode({ ...environment(), ROLE: 'worker', ...env })
    workers.push(worker)
    return worker
  }
  const localWorkers: LocalNode[] = []
  /** For tests that neither kill it nor send it signals. */
  async function startLocalWorker(env: Record<string, string> = {}, timing: Partial<SenderTiming> = {}) {
    localWorkers.push(await startLocalNode({ ...environment(), ROLE: 'worker', ...env }, timing))
  }
  afterEach(async () => {
    // A worker would wait for answers that never come.
    sink.reset()
    await Promise.all([...workers.splice(0), ...localWorkers.splice(0)].map((worker) => worker.stop()))
    sink.outage.refusal = undefined
    await sql`update emails set state = 'cancelled' where state in ('queued', 'deferred')`.execute(sterna.db)
  })

  async function send(to: string | string[], { from = FROM, key = project.sk, ...more }: SendOptions = {}): Promise<string[]> {
    const { body } = await sterna.call('POST', '/v1/send', { key, body: { to, from, subject: 'Hi', body: '<p>Hello</p>', ...more } })
    return body.data.emails.map(({ email }: { email: string }) => email)
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
    sterna,
    sink,
    project,
    environment,
    newProject,
    workers,
    startWorker,
    startLocalWorker,
    send,
    rowsOf,
    statesOf,
    inState,
    copiesOf,
  }
}

type SendOptions = { from?: string; key?: string; attachments?: object[] }

export const addresses = (how: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${how}+${index}.${newId()}@example.com`)
