import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { continueFiring } from '../../src/workflows/executions/fire.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { newWorkflowProject } from './workflow-project.ts'

const sterna = useSharedApp()
let project: Awaited<ReturnType<typeof newWorkflowProject>>
let segmentId: string
beforeAll(async () => {
  project = await newWorkflowProject(sterna)
  const contacts = await Promise.all(['ada', 'bob', 'eve'].map((name) => project.contacts.create(`${name}@example.com`)))
  segmentId = (await project.call('POST', '/segments', { name: 'Members', type: 'STATIC' })).body.id
  const emails = [contacts[0]!.email, contacts[2]!.email]
  expect((await project.call('POST', `/segments/${segmentId}/members`, { emails })).status).toBeLessThan(300)
})

/** A daily schedule whose time was some minutes ago: it does not fire while the test runs, unless the test says so. */
async function daily({ minutesAgo }: { minutesAgo: number }) {
  const at = new Date(Date.now() - minutesAgo * 60_000)
  at.setUTCSeconds(0, 0)
  const { id } = await project.line([{ type: 'EXIT', config: { reason: 'done' } }])
  const schedule = `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`
  const { status } = await project.call('PATCH', `/workflows/${id}`, { triggerType: 'SCHEDULE', triggerConfig: { schedule, segmentId } })
  expect(status).toBe(200)
  const next = new Date(at.getTime() + 86_400_000)
  return { id, at: at.toISOString(), next: next.toISOString() }
}

const setNext = (id: string, at: string) => sql`update workflows set next_firing_at = ${at} where id = ${id}`.execute(sterna.db)
const firings = async (id: string) => (await project.stats(id)).firings
const insertRunning = async (workflowId: string) => {
  const firingId = newId()
  await sql`
    insert into workflow_firings (project_id, id, workflow_id, fired_for, status) values (${project.id}, ${firingId}, ${workflowId}, now(), 'RUNNING')
  `.execute(sterna.db)
  return firingId
}

test('a firing enrols the members of the segment, and the next one follows', async () => {
  const { id, at, next } = await daily({ minutesAgo: 3 })
  expect((await project.stats(id)).nextFiringAt).toBe(next)
  await setNext(id, at)
  await eventually(async () =>
    expect(await firings(id)).toEqual([{ firedFor: at, status: 'DONE', reason: null, enrolled: 2, endedAt: expect.any(String) }]),
  )
  await eventually(async () => expect(await project.executions(id, '?status=EXITED')).toHaveLength(2))
  const emails = (await project.executions(id)).map(({ contact }) => contact.email).sort()
  expect(emails).toEqual(['ada@example.com', 'eve@example.com'])
  expect((await project.stats(id)).nextFiringAt).toBe(next)
})

test('a firing that was missed by more than an hour is recorded, and not made up for', async () => {
  const { id, at } = await daily({ minutesAgo: 90 })
  await setNext(id, at)
  await eventually(async () =>
    expect(await firings(id)).toMatchObject([{ firedFor: at, status: 'SKIPPED', reason: 'too_late', enrolled: 0 }]),
  )
  expect(await project.executions(id)).toEqual([])
})

test('a firing is skipped and recorded while the one before is under way', async () => {
  const { id, at } = await daily({ minutesAgo: 3 })
  const firingId = await insertRunning(id)
  await setNext(id, at)
  await eventually(async () => expect(await firings(id)).toMatchObject([{ status: 'SKIPPED', reason: 'under_way' }, { status: 'RUNNING' }]))
  await continueFiring(sterna.db, { projectId: project.id, firingId, size: 1 })
  expect((await firings(id))[1]).toMatchObject({ status: 'DONE', enrolled: 2 })
})

test('disabling the workflow ends a firing that is under way', async () => {
  const { id } = await daily({ minutesAgo: 3 })
  const firingId = await insertRunning(id)
  await project.call('PATCH', `/workflows/${id}`, { enabled: false })
  await continueFiring(sterna.db, { projectId: project.id, firingId })
  expect(await firings(id)).toMatchObject([{ status: 'DONE', reason: 'disabled', enrolled: 0 }])
  expect((await project.stats(id)).nextFiringAt).toBeNull()
})

test('a change of the name leaves the next firing as it is, a change of the schedule does not', async () => {
  const { id } = await daily({ minutesAgo: 3 })
  const planned = '2040-01-01T00:00:00.000Z'
  await setNext(id, planned)
  await project.call('PATCH', `/workflows/${id}`, { name: 'Renamed' })
  expect((await project.stats(id)).nextFiringAt).toBe(planned)
  await project.call('PATCH', `/workflows/${id}`, { triggerConfig: { schedule: '0 0 1 1 *', segmentId } })
  expect((await project.stats(id)).nextFiringAt).not.toBe(planned)
})

test('a segment that a schedule uses cannot be deleted', async () => {
  const { id } = await daily({ minutesAgo: 3 })
  const { status, body } = await project.call('DELETE', `/segments/${segmentId}`)
  expect([status, body.error.details.usedBy]).toEqual([409, expect.arrayContaining([expect.objectContaining({ type: 'workflow', id })])])
})
