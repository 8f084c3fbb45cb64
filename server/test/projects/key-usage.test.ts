import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'

const sterna = useSharedApp()
type Project = Awaited<ReturnType<typeof sterna.newProject>>

const usageOf = async ({ owner, id }: Project) => (await owner.call('GET', `/projects/${id}/key-usage`)).body
const setupOf = async ({ owner, id }: Project) => (await owner.call('GET', `/projects/${id}/setup-state`)).body

test('the use of a key is shown, until the keys are regenerated', async () => {
  const project = await sterna.newProject()
  expect(await usageOf(project)).toEqual({ public: { lastUsedAt: null }, secret: { lastUsedAt: null } })
  await project.call('GET', '/contacts')
  await eventually(async () => {
    const { public: open, secret } = await usageOf(project)
    expect([open.lastUsedAt, Date.now() - Date.parse(secret.lastUsedAt) < 120_000]).toEqual([null, true])
  })
  await project.owner.call('POST', `/users/@me/projects/${project.id}/regenerate-keys`)
  expect((await usageOf(project)).secret.lastUsedAt).toBeNull()
})

test('a thousand uses are one write', async () => {
  const project = await sterna.newProject()
  const versions = () => many(sterna.db, sql<{ xmin: string }>`select xmin::text from key_usage where project_id = ${project.id}`)
  await project.call('GET', '/contacts')
  const [first] = await eventually(async () => {
    const rows = await versions()
    expect(rows).toHaveLength(1)
    return rows
  })
  for (let n = 0; n < 50; n++) await project.call('GET', '/contacts?limit=1')
  const other = await sterna.newProject()
  await other.call('GET', '/contacts')
  // The next write of all projects: it would have this one, too.
  await eventually(async () => expect(await many(sterna.db, sql`select 1 from key_usage where project_id = ${other.id}`)).toHaveLength(1))
  expect(await versions()).toEqual([first])
})

test('the setup state follows what the project has', async () => {
  const project = await sterna.newProject()
  const fresh = { hasUsedApi: false, hasTrackedEvent: false, hasTemplate: false, hasSegment: false, hasSentEmail: false, contactCount: 0 }
  expect(await setupOf(project)).toMatchObject(fresh)
  await project.track({ email: 'ada@example.com', event: 'signup' })
  await project.call('POST', '/templates', { name: 'T', subject: 'S', body: 'B', type: 'TRANSACTIONAL' })
  await project.call('POST', '/segments', { name: 'S', type: 'STATIC' })
  await eventually(async () =>
    expect(await setupOf(project)).toMatchObject({
      hasUsedApi: true,
      hasTrackedEvent: true,
      hasTemplate: true,
      hasSegment: true,
      contactCount: 1,
    }),
  )
})

test('events of the service alone are not tracked events', async () => {
  const project = await sterna.newProject()
  const ada = await project.contacts.create('ada@example.com')
  await project.contacts.update(ada.id, { subscribed: false })
  expect(await project.events.names()).toEqual(['contact.unsubscribed'])
  expect((await setupOf(project)).hasTrackedEvent).toBe(false)
})

test('only a member sees the uses of keys', async () => {
  const project = await sterna.newProject()
  const stranger = await sterna.newPerson()
  expect((await stranger.call('GET', `/projects/${project.id}/key-usage`)).status).toBe(404)
})
