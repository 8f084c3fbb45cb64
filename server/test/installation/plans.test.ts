import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { fillProject, toFill } from '../support/filled-project.ts'
import { noteStatements, type Plan, planOf, type Ran } from '../support/plans.ts'
import { newProject } from '../support/project.ts'

/** From before the app starts: each connection sets up its planner first. */
const noted = noteStatements()
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })

type Explained = Ran & { plan: Plan }
let whileSmall: Explained[]
let whenLarge: Explained[]

beforeAll(async () => {
  const project = await newProject(sterna).sending()
  const { tracked } = await fillProject(toFill(project))
  for (const list of ['/contacts', '/contacts?search=reader', '/activity', '/emails', `/segments/${tracked.id}/contacts`, '/events'])
    expect(await project.call('GET', list)).toMatchObject({ status: 200 })
  const ran = noted.statements()
  noted.stop()
  // No table was analyzed yet: PostgreSQL keeps the plans of prepared statements that were made like this.
  whileSmall = await explain(ran)
  await fill()
  whenLarge = await explain(ran)
})
afterAll(() => noted.stop())

async function explain(statements: Ran[]) {
  const session = new pg.Client(sterna.url)
  await session.connect()
  const explained: Explained[] = []
  for (const statement of statements) explained.push({ ...statement, plan: await planOf(session, statement) })
  await session.end()
  return explained
}

/** Rows of a kind of which there are many, as copies of one. */
const COPIES = {
  contacts: sql`jsonb_build_object('id', gen_random_uuid(), 'email', n || '@many.example')`,
  emails: sql`jsonb_build_object('id', gen_random_uuid(), 'contact_id', null, 'campaign_id', null, 'message_id', n || '@many.example')`,
  activities: sql`jsonb_build_object('id', gen_random_uuid())`,
}

async function fill() {
  for (const [table, changes] of Object.entries(COPIES)) {
    const first =
      table === 'emails' ? sql`select * from emails where state = 'sent' limit 1` : sql`select * from ${sql.table(table)} limit 1`
    await sql`
      insert into ${sql.table(table)} select (jsonb_populate_record(t, ${changes})).* from (${first}) as t, generate_series(1, 10000) as n
    `.execute(sterna.db)
  }
  await sql`analyze`.execute(sterna.db)
}

test('dump', () => {
  const of = (all: Explained[]) =>
    all.filter(({ plan }) => plan.scanned.some((table) => ['emails', 'contacts', 'activities'].includes(table)))
  console.log('ran', whileSmall.length, whileSmall.filter(({ isPrepared }) => isPrepared).length)
  for (const each of of(whileSmall).filter(({ isPrepared }) => isPrepared))
    console.log('SMALL', each.plan.scanned, [...each.settings], each.text.slice(0, 3000))
  for (const each of of(whenLarge)) console.log('LARGE', each.isPrepared, each.plan.scanned, [...each.settings], each.text.slice(0, 1500))
})
