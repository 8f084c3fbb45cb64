import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, intervals: { timeoutAfterMs: 0 } })
const CONTACTS = 60

test('an event and a timeout at the same moment: exactly one of them ends the wait, and decides the path', async () => {
  const project = await newWorkflowProject(sterna)
  const { id, steps } = await project.create({ eventName: 'start' })
  const wait = await project.addStep(id, { type: 'WAIT_FOR_EVENT', config: { eventName: 'paid', timeout: 3_600 } })
  const [paid, late] = await Promise.all(['paid', 'late'].map((reason) => project.addStep(id, { type: 'EXIT', config: { reason } })))
  await project.connect(id, steps[0].id, wait.id)
  await project.connect(id, wait.id, paid.id)
  await project.connect(id, wait.id, late.id, 'timeout')
  await project.call('PATCH', `/workflows/${id}`, { enabled: true })
  const track = (event: string) => Promise.all(times(CONTACTS, (n) => project.track({ email: `c${n}@example.com`, event })))
  await track('start')
  await eventually(async () => expect(await project.executions(id, '?status=WAITING&pageSize=100')).toHaveLength(CONTACTS))

  // Both at once: the end of each wait is due while its event is on its way.
  const endWaits = sql`update workflow_executions set due_at = now(), deadline_at = now() where workflow_id = ${id} and awaits is not null`
  await Promise.all([track('paid'), endWaits.execute(sterna.db)])
  await eventually(async () => expect(await project.executions(id, '?status=EXITED&pageSize=100')).toHaveLength(CONTACTS))
  const ends = await many(
    sterna.db,
    sql<{ reason: string; path: string[]; byEvent: boolean; byTimeout: boolean }>`
      select e.exit_reason as reason, array_agg(s.step_id order by s.visit) as path,
        bool_or(s.output ? 'event') as "byEvent", bool_or(s.output ? 'timedOut') as "byTimeout"
      from workflow_executions e join workflow_step_executions s on s.project_id = e.project_id and s.execution_id = e.id
      where e.workflow_id = ${id} group by e.id, e.exit_reason
    `,
  )
  expect(ends).toHaveLength(CONTACTS)
  for (const { reason, path, byEvent, byTimeout } of ends) {
    expect([byEvent, byTimeout]).toEqual(reason === 'paid' ? [true, false] : [false, true])
    expect(path).toEqual([steps[0].id, wait.id, reason === 'paid' ? paid.id : late.id])
  }
})
