import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { runHousekeeping } from '../../src/housekeeping.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { workflowLedger } from '../../src/workflows/executions/figures.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
type Project = Awaited<ReturnType<typeof newWorkflowProject>>

const TABLES = [
  'workflows',
  'workflow_graphs',
  'workflow_executions',
  'workflow_step_executions',
  'workflow_tallies',
  'workflow_figures',
  'workflow_days',
  'workflow_refusals',
  'workflow_entries',
  'workflow_firings',
]

/** Tables that have rows of the project. */
async function rowsOf({ id }: Project) {
  const found = await Promise.all(
    TABLES.map(async (table) =>
      (await many(sterna.db, sql`select 1 from ${sql.table(table)} where project_id = ${id} limit 1`)).length ? [table] : [],
    ),
  )
  return found.flat()
}

const delay = { type: 'DELAY', config: { amount: 1, unit: 'days' } }
const exit = { type: 'EXIT' }
const isOver = () => eventually(async () => expect(await many(sterna.db, sql`select 1 from project_wipes`)).toEqual([]))

describe('executions that are older than the retention', () => {
  test('are deleted, and still keep the contact from entering again', async () => {
    const project = await newWorkflowProject(sterna)
    const { id } = await project.line([exit])
    const [old, recent] = [await project.contacts.create('old@example.com'), await project.contacts.create('recent@example.com')]
    for (const contact of [old, recent]) await project.start(id, contact.id)
    await eventually(async () => expect(await project.executions(id, '?status=EXITED')).toHaveLength(2))
    await sql`update workflow_executions set completed_at = now() - interval '40 days' where contact_id = ${old.id}`.execute(sterna.db)
    const keepHouse = (executionRetentionMonths: number) =>
      runHousekeeping(sterna.db, createLog('silent'), { idempotencyTtlHours: 24, executionRetentionMonths })
    await keepHouse(0)
    expect(await project.executions(id)).toHaveLength(2)
    await keepHouse(1)
    expect((await project.executions(id)).map(({ contactId }) => contactId)).toEqual([recent.id])
    const { steps } = await one(
      sterna.db,
      sql<{ steps: number }>`select count(distinct execution_id)::int as steps from workflow_step_executions where workflow_id = ${id}`,
    )
    expect(steps).toBe(1)
    expect(await project.explain(id, old.id)).toMatchObject({ reason: 'reentry', canEnter: false, executions: [] })
    expect((await project.start(id, old.id)).status).toBe(409)
    await project.track({ email: old.email, event: 'signup' })
    await project.track({ email: 'new@example.com', event: 'signup' })
    await eventually(async () => expect(await project.executions(id)).toHaveLength(2))
    expect(await project.executions(id, `?contactId=${old.id}`)).toEqual([])
    await project.call('PATCH', `/workflows/${id}`, { allowReentry: true })
    expect((await project.start(id, old.id)).status).toBe(201)
  })
})

describe('deleting a workflow', () => {
  test('deletes its executions, graphs and figures', async () => {
    const project = await newWorkflowProject(sterna)
    const { id } = await project.line([exit])
    await project.start(id, (await project.contacts.create('ada@example.com')).id)
    await project.ended(id)
    await workflowLedger.fold(sterna.db)
    expect(await rowsOf(project)).toEqual(expect.arrayContaining(['workflow_figures', 'workflow_days']))
    expect((await project.call('DELETE', `/workflows/${id}`)).status).toBe(204)
    await eventually(async () => expect(await rowsOf(project)).toEqual([]))
  })
})

describe('a reset or deletion of the project', () => {
  test.each([
    ['reset', 'POST', '/reset'],
    ['deletion', 'DELETE', ''],
  ])('by %s removes active executions', async (_, method, path) => {
    const project = await newWorkflowProject(sterna)
    const { id } = await project.line([delay, exit])
    await project.start(id, (await project.contacts.create('ada@example.com')).id)
    await project.waiting(id)
    await project.owner.call(method, `/users/@me/projects/${project.id}${path}`)
    await isOver()
    expect(await rowsOf(project)).toEqual([])
  })

  test('waits for a step that is about to send, so that nothing leaves afterwards', async () => {
    const project = await newWorkflowProject(sterna)
    const templateId = await project.template({ from: `hello@${project.domain}` })
    const { id } = await project.line([{ type: 'SEND_EMAIL', config: { templateId } }])
    const { id: contactId } = await project.contacts.create('ada@example.com')
    await sql`create table messages_left (at timestamptz)`.execute(sterna.db)
    await sql`
      create function note_message() returns trigger language plpgsql as $$
      begin insert into messages_left values (clock_timestamp()); return new; end $$
    `.execute(sterna.db)
    await sql`create trigger note_message after insert on sandbox_messages for each row execute function note_message()`.execute(sterna.db)
    const enqueued = { on: 'insert' as const, table: 'emails', when: sql`new.project_id = ${sql.lit(project.id)}` }
    let answeredAt = ''
    await whileSleeping(sterna.db, enqueued, async () => ({
      started: { starting: project.start(id, contactId) },
      meanwhile: async () => {
        expect((await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)).status).toBe(200)
        answeredAt = (await one(sterna.db, sql<{ at: string }>`select clock_timestamp()::text as at`)).at
      },
    }))
    await isOver()
    expect(await many(sterna.db, sql`select 1 from messages_left where at > ${answeredAt}::timestamptz`)).toEqual([])
    expect(await many(sterna.db, sql`select 1 from emails where project_id = ${project.id}`)).toEqual([])
    expect(await rowsOf(project)).toEqual([])

    // Workflows of the project work again.
    const next = await project.line([
      { type: 'SEND_EMAIL', config: { templateId: await project.template({ from: `hello@${project.domain}` }) } },
    ])
    await project.start(next.id, (await project.contacts.create('ada@example.com')).id)
    const { emailId } = (await project.ended(next.id)).stepExecutions[1]
    await eventually(async () => expect(await project.email(emailId)).toMatchObject({ status: 'SENT' }))
  })
})
