import type { LightMyRequestResponse } from 'fastify'
import { sql } from 'kysely'
import { afterAll, beforeAll } from 'vitest'
import { listAccountEmails, readAccountEmail } from '../../src/account-emails/account-email.ts'
import { startWorkerAgenda } from '../../src/agenda.ts'
import { buildApp, type Parts } from '../../src/app.ts'
import { connect, many, type Pool } from '../../src/db/index.ts'
import type { SenderTiming } from '../../src/delivery/sender/timing.ts'
import { syncWithTransport } from '../../src/domains/sender-domains/sync-with-transport.ts'
import type { App, Deps } from '../../src/http/core/types.ts'
import { type Config, loadConfig } from '../../src/lib/config.ts'
import { createLog, type Log } from '../../src/lib/process/log.ts'
import { deriveSecrets, type Secrets } from '../../src/lib/secrets.ts'
import { checkSecret } from '../../src/nodes/instance.ts'
import { joinNodes } from '../../src/nodes/join.ts'
import { announce } from '../../src/nodes/presence.ts'
import { countsOfSql } from '../../src/projects/email-counts.ts'
import { startWorker, type WorkerIntervals } from '../../src/worker.ts'
import { CHEAP_PARTS, QUICK_AGENDA, QUICK_TIMING } from './cheap-parts.ts'
import { cloneDatabase } from './database.ts'
import { keepRunning } from './processes/keep-running.ts'
import { projectClient } from './project.ts'
import { SECRET_KEY } from './secret-key.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape; a wrong field fails the test
export type Answer = { status: number; headers: LightMyRequestResponse['headers']; body: any }
export type Call = {
  body?: unknown
  cookie?: string | undefined
  key?: string | undefined
  headers?: Record<string, string>
  from?: string
}

/** One database and one app for a test file. Call at the top level; the fields are set before the first test. */
export function useApp({ isPatient = true, ...building }: Building & { isPatient?: boolean } = {}) {
  const sterna = {} as Sterna & { url: string; config: Config }
  let close = async () => {}

  beforeAll(async () => {
    const started = await startWithDatabase({ isPatient, ...building })
    Object.assign(sterna, started.sterna)
    close = started.close
  })
  afterAll(() => close())
  return sterna
}

async function startWithDatabase({ isPatient = true, ...building }: Building & { isPatient?: boolean }) {
  const database = await cloneDatabase({ isPatient })
  const { sterna, deps, close } = await startApp(database.url, building)
  return {
    sterna: { ...sterna, config: deps.config, url: database.url },
    async close() {
      await close()
      await database.drop()
    },
  }
}

const sharedApp = keepRunning(
  async () => {
    const env = { RATE_LIMIT_PER_MINUTE: '0', PUBLIC_URL: 'https://mail.example' }
    const started = await startWithDatabase({ env, intervals: { campaigns: { startMs: 50, countMs: 100 } } })
    return { ...started, schema: await describeSchema(started.sterna.db) }
  },
  ({ close }) => close(),
)

/**
 * The app of all test files that work in projects of their own, without a rate limit: to start one, with cold connections to a new database,
 * takes as much CPU as the tests of many a file. Not for tests that look at other projects or change the schema.
 */
export function useSharedApp() {
  const sterna = {} as Omit<Sterna, 'digest'> & { url: string }
  beforeAll(async () => void Object.assign(sterna, (await sharedApp.enter()).sterna))
  afterAll(async () => {
    const { schema } = await sharedApp.enter()
    const left = await describeSchema(sterna.db)
    sharedApp.leave()
    if (left !== schema)
      throw new Error('This file has changed the schema of the app that others share; it needs an app of its own: useApp.')
  })
  return sterna
}

/** Tables, columns, triggers and functions. Without partitions, which a worker adds. */
async function describeSchema(db: Pool) {
  const { rows } = await sql<{ hash: string }>`
    select md5(string_agg(name, ',' order by name)) as hash from (
      select format('column %s.%s', c.relname, a.attname) as name from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition and a.attnum > 0 and not a.attisdropped
      union all select format('trigger %s %s %s', tgname, tgrelid, tgenabled) from pg_trigger where not tgisinternal and tgparentid = 0
      union all select format('function %s %s', proname, md5(prosrc)) from pg_proc where pronamespace = 'public'::regnamespace
    ) as parts
  `.execute(db)
  return rows[0]!.hash
}

/**
 * The API and a worker in this process. Its scheduled tasks run only when a test adds their jobs, never because a minute
 * has begun. Without the worker nothing changes between two requests, as tests need that compare the whole database.
 */
type Building = Parts & {
  env?: Record<string, string>
  log?: Log
  withWorker?: boolean
  intervals?: WorkerIntervals
  timing?: Partial<SenderTiming>
}

export async function startApp(url: string, building: Building = {}) {
  const { env = {}, log = createLog('silent'), withWorker = true, intervals = {}, timing: given = {}, ...parts } = building
  const config = loadConfig({ SECRET_KEY, DATABASE_URL: url, SANDBOX_DELIVERIES: 'false', CLAIM_FIRST_ACCOUNT: 'false', ...env })
  const timing = { ...QUICK_TIMING, ...given }
  const db = connect({ url, max: 10, log })
  const deps: Deps = { config, db, secrets: deriveSecrets(env.SECRET_KEY ?? SECRET_KEY), log }
  const app = await buildApp(deps, { ...CHEAP_PARTS, ...parts })
  const presence = await joinAsWorker(deps, url)
  const agenda = withWorker ? startWorkerAgenda(db, QUICK_AGENDA) : undefined
  const worker = agenda && (await startWorker(deps, { url, presence, intervals, timing, agenda, withSchedule: false }))
  return {
    app,
    deps,
    sterna: createSterna(app, db, deps.secrets),
    async close() {
      await app.close()
      await worker?.stop()
      await agenda?.stop()
      await presence.leave()
      await db.destroy()
    },
  }
}

/** The steps of the product before it starts its worker. */
export async function joinAsWorker(
  { db, log, secrets, config: { transportKind: transport } }: Deps,
  url: string,
  options: Partial<Parameters<typeof announce>[0]> = {},
) {
  await checkSecret(db, secrets)
  return joinNodes({
    db,
    log,
    transport,
    announce: () => announce({ url, kind: 'worker', transport, log, ...options }),
    follow: syncWithTransport,
  })
}

type Sterna = ReturnType<typeof createSterna>
const PROJECTS_PER_PERSON = 50
let people = 0
let signUps = 0

export function createSterna(app: App, db: Pool, secrets: Secrets) {
  async function call(method: string, url: string, { body, cookie, key, headers = {}, from }: Call = {}): Promise<Answer> {
    const answer = await app.inject({
      method: method as 'GET',
      url,
      ...(from ? { remoteAddress: from } : {}),
      ...(body === undefined ? {} : { payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(cookie ? { cookie } : {}),
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...headers,
      },
    })
    const json = answer.headers['content-type']?.toString().startsWith('application/json')
    return { status: answer.statusCode, headers: answer.headers, body: json ? answer.json() : answer.body }
  }

  type Person = Awaited<ReturnType<typeof newPerson>>

  /** A signed-in person with an address of their own, from a network of their own: sign-ups from one are limited. */
  async function newPerson({ email = `person${++people}@example.com`, password = 'correct horse', verified = false } = {}) {
    const answer = await call('POST', '/auth/signup', { body: { email, password }, from: `10.${++signUps >> 8}.${signUps & 255}.1` })
    if (answer.status !== 200) throw new Error(`sign-up failed: ${JSON.stringify(answer.body)}`)
    if (verified) await call('POST', '/auth/verify-email', { body: { token: await tokenFor(email) } })
    const cookie = cookieOf(answer)
    return {
      id: answer.body.id as string,
      email,
      password,
      cookie,
      call: (method: string, url: string, options: Call = {}) => call(method, url, { cookie, ...options }),
    }
  }

  let owned = 0
  let owner: Promise<Person>
  /** One person for up to 50 projects, the most a person may have: a sign-up for each project would cost a password hash. */
  function sharedOwner() {
    if (owned++ % PROJECTS_PER_PERSON === 0) {
      owner = newPerson()
      // A failed sign-up must not fail every later test.
      owner.catch(() => (owned = 0))
    }
    return owner
  }

  async function newProject(of?: Person) {
    const person = of ?? (await newPerson())
    const { body } = await person.call('POST', '/users/@me/projects', { body: { name: 'Test' } })
    return { ...projectClient({ call, db }, { id: body.id, pk: body.public, sk: body.secret }), owner: person }
  }

  async function accountEmailsTo(email: string) {
    const emails = (await listAccountEmails(db, 1000)).filter(({ to }) => to === email)
    return Promise.all(emails.map(async ({ id }) => (await readAccountEmail(db, secrets, id))!))
  }

  /** The token in the newest account email to that address. */
  async function tokenFor(email: string) {
    const [newest] = await accountEmailsTo(email)
    return /token=([\w-]+)/.exec(newest?.text ?? '')?.[1] ?? ''
  }

  let tables: string[] | undefined
  /** The number of rows and a hash of all of them, by table: equal digests mean that nothing was written. */
  async function digest({ except = [] as string[] } = {}) {
    tables ??= (await many(db, TABLES)).map(({ name }) => name)
    // One statement: some tests take a hundred digests.
    const contents = tables
      .filter((name) => !except.includes(name))
      .map(
        (name) =>
          sql`select ${name}::text as name, count(*)::text as rows, sum(hashtextextended(t.row, 0)) as hash from (${rowsOf(name)}) as t`,
      )
    const found = await many(db, sql<{ name: string; rows: string; hash: string | null }>`${sql.join(contents, sql` union all `)}`)
    return JSON.stringify(found.map(({ name, rows, hash }) => [name, rows, hash]).sort())
  }

  return { app, db, secrets, call, newPerson, sharedOwner, newProject, accountEmailsTo, tokenFor, digest }
}

type Rows = ReturnType<typeof sql<{ row: string }>>

/** Without partitions, whose rows are those of their table. */
const TABLES = sql<{ name: string }>`
  select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1
`

/** Tables that are not compared row by row: a job may add up counts at any time, heartbeats and uses of keys change, and two tables have large columns. */
const DIGEST_QUERIES: Record<string, Rows> = {
  attachments: sql`select (project_id, content_id, position, filename, octet_length(bytes))::text as row from attachments`,
  sandbox_messages: sql`select (project_id, id, email_id, octet_length(source))::text as row from sandbox_messages`,
  api_key_uses: sql`select '' as row where false`,
  request_sources: sql`select '' as row where false`,
  senders: sql`select '' as row where false`,
  contact_counts: sql`
    select (project_id, sum(total), sum(subscribed))::text as row
    from (select project_id, total, subscribed from contact_counts union all select project_id, total, subscribed from contact_count_deltas) as c
    group by project_id having (sum(total), sum(subscribed)) <> (0, 0)
  `,
  contact_count_deltas: sql`select '' as row where false`,
  event_counts: sql`
    select (project_id, name, day, sum(count))::text as row
    from (select project_id, name, day, count from event_counts union all select project_id, name, day, count from event_count_deltas) as c
    group by project_id, name, day having sum(count) <> 0
  `,
  email_counts: sql`
    select (project_id, kind, hour, sum(n))::text as row
    from (select project_id, kind, hour, count as n from email_counts union all select project_id, kind, hour, n from ${countsOfSql()} as l) as c
    group by project_id, kind, hour having sum(n) <> 0
  `,
  usage_periods: sql`select '' as row where false`,
  reputations: sql`select '' as row where false`,
  event_count_deltas: sql`select '' as row where false`,
  activity_counts: sql`
    select (project_id, type, day, sum(count))::text as row
    from (select project_id, type, day, count from activity_counts union all select project_id, type, day, count from activity_count_deltas) as c
    group by project_id, type, day having sum(count) <> 0
  `,
  activity_count_deltas: sql`select '' as row where false`,
  ledger_checks: sql`select '' as row where false`,
  contact_days: sql`select '' as row where false`,
  email_days: sql`select '' as row where false`,
  email_domain_days: sql`select '' as row where false`,
  email_hours: sql`select '' as row where false`,
  email_ledger: sql`select '' as row where false`,
  key_usage: sql`select '' as row where false`,
  job_workers: sql`select '' as row where false`,
  workflow_days: sql`select '' as row where false`,
  workflow_figures: sql`
    select (project_id, workflow_id, subject_id, kind, sum(n))::text as row
    from (
      select project_id, workflow_id, subject_id, kind, n from workflow_figures
      union all select project_id, workflow_id, subject_id, kind, n from workflow_tallies) as f
    group by project_id, workflow_id, subject_id, kind having sum(n) <> 0
  `,
  workflow_tallies: sql`select '' as row where false`,
}

const rowsOf = (table: string): Rows => DIGEST_QUERIES[table] ?? sql`select t::text as row from ${sql.table(table)} t`

/** `name=value` as the browser sends it back. */
export const cookieOf = (answer: Answer) => String(answer.headers['set-cookie'] ?? '').split(';')[0]!
