import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { dropOldExecutions } from '../../src/workflows/executions/erase.ts'
import { workflowLedger } from '../../src/workflows/executions/figures.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })

test('ended executions are dropped after the retention; others are kept', async () => {
  const project = await newWorkflowProject(sterna)
  const run = async (step: { type: string; config?: object }) => {
    const { id } = await project.line([step])
    const contact = await project.contacts.create(`${id}@example.com`)
    await project.call('POST', `/workflows/${id}/executions`, { contactId: contact.id })
    return id
  }
  const [kept, old] = [await run({ type: 'EXIT' }), await run({ type: 'EXIT' })]
  for (const id of [kept, old]) await project.ended(id)
  const asleep = await run({ type: 'DELAY', config: { amount: 1, unit: 'days' } })
  await eventually(async () => expect(await project.executions(asleep)).toMatchObject([{ status: 'WAITING' }]))
  await sql`update workflow_executions set completed_at = now() - interval '3 months' where workflow_id = ${old}`.execute(sterna.db)

  const drop = (months: number) => transact(sterna.db, (tx) => dropOldExecutions(tx, { months, limit: 100 }))
  const left = async (table: 'workflow_executions' | 'workflow_step_executions') =>
    (await many(sterna.db, sql<{ id: string }>`select distinct workflow_id as id from ${sql.table(table)} order by 1`)).map(({ id }) => id)
  expect(await project.counts(old)).toMatchObject({ executions: 1, finished: 1, entered30Days: 1 })
  expect(await drop(0)).toBe(0)
  expect(await left('workflow_executions')).toEqual([kept, old, asleep].sort())
  expect([await drop(4), await drop(2), await drop(2)]).toEqual([0, 1, 0])
  expect(await left('workflow_executions')).toEqual([kept, asleep].sort())
  expect(await left('workflow_step_executions')).toEqual([kept, asleep].sort())
  // Each count is that of a list.
  expect(await project.counts(old)).toMatchObject({ executions: 0, active: 0, finished: 0, entered30Days: 0 })
  expect(await project.counts(kept)).toMatchObject({ executions: 1, active: 0, finished: 1, entered30Days: 1 })
  expect(await project.stats(old)).toMatchObject({ started: 1, executions: 0 })
  await workflowLedger.repair(sterna.db, project.id)
  expect(await project.counts(old)).toMatchObject({ executions: 0, active: 0, finished: 0 })
})
