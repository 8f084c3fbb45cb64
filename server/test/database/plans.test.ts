import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { until } from '../support/eventually.ts'
import { fillProject, toFill } from '../support/filled-project.ts'
import { noteStatements, type Plan, planOf, type Ran } from '../support/plans.ts'
import { newProject } from '../support/project.ts'

/** From before the app starts: each connection sets up its planner first. */
const noted = noteStatements()
const sterna = useApp({
  env: { RATE_LIMIT_PER_MINUTE: '0', WEBHOOK_ALLOW_PRIVATE: '127.0.0.2/32' },
  intervals: { campaigns: { startMs: 50, countMs: 100 } },
})

type Explained = Ran & { plan: Plan }
const explained: Record<'small' | 'large', Explained[]> = { small: [], large: [] }

beforeAll(async () => {
  const project = await newProject(sterna).sending()
  const { tracked, readers } = await fillProject(toFill(project))
  await project.call('PATCH', `/contacts/${readers[5].id}`, { subscribed: false })
  await until('the endpoint is told', () => noted.statements().some(({ text }) => FAN_OUT.test(text)))
  for (const list of ['/contacts', '/activity', '/emails', `/segments/${tracked.id}/contacts`])
    expect(await project.call('GET', list)).toMatchObject({ status: 200 })
  const ran = noted.statements()
  noted.stop()
  explained.small = await explain(ran)
  await fill()
  explained.large = await explain(ran)
})
afterAll(() => noted.stop())

async function explain(statements: Ran[]) {
  const session = new pg.Client(sterna.url)
  await session.connect()
  const plans: Explained[] = []
  for (const statement of statements) plans.push({ ...statement, plan: await planOf(session, statement) })
  await session.end()
  return plans
}

/** Tables that grow with what is sent, and what makes copies of one row unique. */
const GROWING = {
  contacts: sql`jsonb_build_object('email', n || '@many.example')`,
  emails: sql`jsonb_build_object('contact_id', null, 'campaign_id', null, 'message_id', n || '@many.example')`,
  activities: sql`'{}'::jsonb`,
}

/** Many rows, of another project, and what PostgreSQL knows of them. */
async function fill() {
  const { id } = await newProject(sterna)
  for (const [table, unique] of Object.entries(GROWING)) {
    const source = sql`(select id from ${sql.table(table)} ${table === 'emails' ? sql`where state = 'sent'` : sql``} limit 1)`
    await sql`
      insert into ${sql.table(table)}
      select (jsonb_populate_record(t, jsonb_build_object('project_id', ${id}::uuid, 'id', gen_random_uuid()) || ${unique})).*
      from ${sql.table(table)} as t, generate_series(1, 10000) as n where t.id = ${source}
    `.execute(sterna.db)
  }
  await sql`analyze`.execute(sterna.db)
}

const scansOf = (plans: Explained[], tables: string[]) =>
  plans.filter(({ plan }) => plan.scanned.some((table) => tables.includes(table))).map(({ text }) => text)

test('a prepared statement that is planned before its tables have grown does not read all of them later', () => {
  const prepared = explained.small.filter(({ isPrepared }) => isPrepared)
  expect(prepared.length).toBeGreaterThan(30)
  expect(scansOf(prepared, Object.keys(GROWING))).toEqual([])
})

test('no statement reads all emails', () => {
  expect(scansOf(explained.large, ['emails'])).toEqual([])
})

const FAN_OUT = /delete from webhook_outbox/

/** Tables that are small in this test are looked at before PostgreSQL knows how small. */
test.each<[string, RegExp, keyof typeof explained, string[]]>([
  ['claim', /with recursive me as materialized/, 'small', ['emails_queue']],
  ['claim', /with recursive me as materialized/, 'large', ['emails_queue', 'emails_pkey']],
  ['gate', /as "heldByUnsubscribed"/, 'large', ['contacts_pkey', 'contacts_project_id_email_key']],
  ['mark', /emails_to_mark as materialized/, 'large', ['emails_pkey', 'contacts_pkey']],
  ['settlement', /with settled as/, 'large', ['emails_pkey']],
  ['upsert of contacts', /with input as materialized/, 'large', ['contacts_project_id_email_key']],
  ['reading of contents', /case when s\.bytes <= /, 'large', ['contents_pkey']],
  ['freeze of an audience', /with judged as materialized/, 'large', ['contacts_project_id_email_key']],
  [
    'claim of due executions',
    /from workflow_executions e\s+where e\.project_id = \$1 and e\.due_at <= now/,
    'small',
    ['workflow_executions_due_of_project'],
  ],
  ['fan-out', FAN_OUT, 'small', ['webhook_outbox_pkey']],
  ['page of a segment', /octet_length\(data::text\) as bytes from contacts/, 'large', ['contacts_pkey']],
  ['list of activities', /"rowNumber"[\s\S]*from activities/, 'large', ['activities_pkey']],
  ['list of contacts', /"rowNumber" from \(\s*select id as "id", email as "email"/, 'large', ['contacts_pkey']],
  ['list of emails', /"rowNumber"[\s\S]*from emails/, 'large', ['emails_pkey']],
])('%s: %s, with %s tables, uses indexes', (_, pattern, size, indexes) => {
  const statements = explained[size].filter(({ text }) => pattern.test(text))
  expect(statements.length).toBeGreaterThan(0)
  for (const { plan } of statements) expect(plan.indexes).toEqual(expect.arrayContaining(indexes))
})

test('an enqueue reads no table but the settings of the installation', () => {
  const statements = explained.large.filter(({ text }) => /with queued as \(\s*insert into "emails"/.test(text))
  expect(statements.map(({ plan }) => plan)).toEqual([{ scanned: ['instance'], indexes: [] }])
})

test.each(['small', 'large'] as const)('the agenda reads the first entries of indexes while tables are %s', (size) => {
  const [agenda, ...others] = explained[size].filter(({ text }) => /as "queuedEmails"/.test(text))
  expect(others).toEqual([])
  expect(agenda!.plan.scanned).toEqual(['_private_jobs'])
  expect(agenda!.plan.indexes).toEqual(
    expect.arrayContaining(['emails_queue', 'emails_due', 'emails_held', 'emails_suspicious', 'emails_unknown', 'workflow_executions_due']),
  )
})
