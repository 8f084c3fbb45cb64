import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { many, one, transact } from '../../src/db/index.ts'
import { getWorkflow } from '../../src/workflows/definition/workflow.ts'
import { enrol } from '../../src/workflows/executions/enrol.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useSharedApp()
/** More than six pages of 500. */
const CONTACTS = 3_001

test('a firing enrols every member of its segment once, also after pages without any', async () => {
  const project = await newWorkflowProject(sterna)
  await sql`
    insert into contacts (project_id, id, email, subscribed, data)
    select ${project.id}, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'c' || n || '@example.com', true,
      jsonb_build_object('chosen', n in (1, 1000, 1001, 3000, ${CONTACTS}))
    from generate_series(1, ${CONTACTS}) n
  `.execute(sterna.db)
  const condition = { logic: 'AND', groups: [{ filters: [{ field: 'data.chosen', operator: 'equals', value: true }] }] }
  const { body: segment } = await project.call('POST', '/segments', { name: 'Chosen', condition })
  const { id } = await project.line([{ type: 'EXIT' }])
  const triggerConfig = { schedule: '0 0 1 1 *', timezone: 'UTC', segmentId: segment.id }
  expect((await project.call('PATCH', `/workflows/${id}`, { triggerType: 'SCHEDULE', triggerConfig })).status).toBe(200)
  const firings = () =>
    one(
      sterna.db,
      sql<{ done: number; enrolled: number }>`
        select count(*) filter (where status = 'DONE')::int as done, coalesce(sum(enrolled), 0)::int as enrolled from workflow_firings
        where workflow_id = ${id}
      `,
    )
  for (const done of [1, 2]) {
    await sql`update workflows set next_firing_at = now() where id = ${id}`.execute(sterna.db)
    // The second time nobody enters: the workflow does not allow re-entry.
    await eventually(async () => expect(await firings()).toEqual({ done, enrolled: 5 }))
  }
  expect((await project.executions(id)).map(({ contact }) => contact.email).sort()).toEqual(
    [1, 1000, 1001, 3000, CONTACTS].map((n) => `c${n}@example.com`).sort(),
  )
})

test('who has entered is looked up by contact, also in a workflow that is newer than the statistics', async () => {
  const project = await newWorkflowProject(sterna)
  const sleeping = () => project.line([{ type: 'DELAY', config: { amount: 1, unit: 'days' } }])
  const ids = (
    await many(
      sterna.db,
      sql<{ id: string }>`
        insert into contacts (project_id, id, email, subscribed)
        select ${project.id}, gen_random_uuid(), 'n' || n || '@example.com', true from generate_series(1, 400) n returning id`,
    )
  ).map(({ id }) => id)
  const enter = async (id: string, contactIds: string[]) =>
    transact(sterna.db, async (tx) => {
      const starts = contactIds.map((contactId) => ({ contactId }))
      await enrol(tx, await getWorkflow(tx, { projectId: project.id, id }), starts)
      return one(
        tx,
        sql<{ read: number }>`select idx_tup_fetch::int as read from pg_stat_xact_user_tables where relname = 'workflow_executions'`,
      )
    })
  await enter((await sleeping()).id, ids)
  await sql`analyze workflow_executions`.execute(sterna.db)
  const { id } = await sleeping()
  await enter(id, ids.slice(0, 200))
  expect((await enter(id, ids)).read).toBeLessThan(5_000)
})
