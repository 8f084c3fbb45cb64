import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { TODAY } from '../../src/contacts/record/counts.ts'
import { many, transact } from '../../src/db/index.ts'
import { settleByEvidence } from '../../src/delivery/outbox/outcomes/evidence.ts'
import { newId } from '../../src/lib/id.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { newSendingProject } from '../support/project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
type Project = Awaited<ReturnType<typeof newSendingProject>>

const reset = ({ owner, id }: Project) => owner.call('POST', `/users/@me/projects/${id}/reset`)
const isOver = () => eventually(async () => expect(await many(sterna.db, sql`select 1 from project_wipes`)).toEqual([]))

/** The number of rows of a project per table. */
async function rowsOf({ id }: Project) {
  const tables = await many(
    sterna.db,
    sql<{ name: string }>`
      select table_name as name from information_schema.columns
      where table_schema = 'public' and column_name = 'project_id' and table_name not in ('memberships', 'domains', 'rate_windows', 'key_usage', 'audit_entries', 'api_keys', 'api_key_hashes', 'api_key_uses')
    `,
  )
  const counts = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await many(
        sterna.db,
        sql<{ count: number }>`select count(*)::int as count from ${sql.table(name)} where project_id = ${id}`,
      )
      return [name, row!.count] as const
    }),
  )
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}

test('a reset while an email is being sent leaves no rows of it', async () => {
  const project = await newSendingProject(sterna)
  const { id } = await project.sent()
  await sql`update emails set state = 'unknown', unknown_since = now() where project_id = ${project.id}`.execute(sterna.db)
  // Evidence that the email was sent arrives between the request and the removal of the email.
  const wiped = { on: 'delete' as const, table: 'contacts', when: sql`old.project_id = ${sql.lit(project.id)}` }
  const { resetting } = await whileSleeping(sterna.db, wiped, async () => ({
    started: { resetting: reset(project) },
    meanwhile: () => transact(sterna.db, (tx) => settleByEvidence(tx, [{ projectId: project.id, id }])),
  }))
  await resetting
  await isOver()
  expect(await rowsOf(project)).toEqual({})
  expect((await project.call('GET', '/events/names')).body.eventNames).toEqual([])
})

test('a reset also removes rows of a transaction that began before it and commits after its work', async () => {
  const project = await newSendingProject(sterna)
  await project.track({ email: 'ada@example.com', event: 'old' })
  const contactsOf = () => many(sterna.db, sql`select 1 from contacts where project_id = ${project.id}`)
  let resetting: Promise<unknown> | undefined
  await transact(sterna.db, async (tx) => {
    await sql`insert into contacts (project_id, id, email, subscribed) values (${project.id}, ${newId()}, 'late@example.com', true)`.execute(
      tx,
    )
    await sql`
      insert into contact_count_deltas (project_id, total, subscribed, day, created, created_subscribed)
      values (${project.id}, 1, 1, ${TODAY}, 1, 1)
    `.execute(tx)
    await sql`insert into events (project_id, id, name, data) values (${project.id}, ${newId()}, 'late', '{}')`.execute(tx)
    await sql`insert into event_count_deltas (project_id, name, day, count) values (${project.id}, 'late', ${TODAY}, 1)`.execute(tx)
    resetting = reset(project)
    // The reset either ends too early, or it has seen this transaction and will look again.
    await eventually(async () => {
      const ended = !(await many(sterna.db, sql`select 1 from project_wipes`)).length
      const waits =
        (await many(sterna.db, sql`select 1 from graphile_worker._private_jobs where payload ->> 'since' is not null`)).length > 0
      expect([await contactsOf(), ended || waits]).toEqual([[], true])
    })
  })
  await resetting
  await isOver()
  expect(await rowsOf(project)).toEqual({})
})

test('rows written after a reset stay', async () => {
  const project = await newSendingProject(sterna)
  await project.track({ email: 'ada@example.com', event: 'old' })
  await reset(project)
  await isOver()
  await project.track({ email: 'ada@example.com', event: 'new' })
  await project.sent({ to: 'bob@example.com' })
  expect(await project.events.names()).toEqual(['email.sent', 'new'])
})

test('a reset stops an import and removes its contacts', async () => {
  const project = await newSendingProject(sterna)
  const rows = Array.from({ length: 20_000 }, (_, index) => `person${index}@example.com`)
  const { status } = await project.contacts.upload(`email\n${rows.join('\n')}`)
  expect(status).toBe(202)
  await eventually(async () =>
    expect((await many(sterna.db, sql`select 1 from contacts where project_id = ${project.id} limit 1`)).length).toBe(1),
  )
  await reset(project)
  await isOver()
  await eventually(async () =>
    expect(await many(sterna.db, sql`select 1 from graphile_worker.jobs where task_identifier = 'contacts.import'`)).toEqual([]),
  )
  expect(await rowsOf(project)).toEqual({})
})
