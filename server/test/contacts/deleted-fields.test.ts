import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { readDeletedFields, unregisterField } from '../../src/contacts/fields/fields.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { listenTo } from '../../src/events/listen.ts'
import { useSharedApp } from '../support/app.ts'

const sterna = useSharedApp()

async function newProject() {
  const project = await sterna.newProject(await sterna.sharedOwner())
  return {
    ...project,
    drop: (key: string) => project.call('DELETE', `/contacts/fields/${encodeURIComponent(key)}`),
    deleted: async (...keys: string[]) => [...(await readDeletedFields(sterna.db, project.id, keys))].sort(),
  }
}

describe('a deleted field', () => {
  test('counts as deleted until a contact gets it again', async () => {
    const project = await newProject()
    const { id } = await project.contacts.create('ada@example.com', { data: { plan: 'pro', visits: 1 } })
    expect(await project.deleted('plan', 'visits')).toEqual([])
    await project.drop('plan')
    expect(await project.deleted('plan', 'visits')).toEqual(['plan'])
    await project.contacts.update(id, { data: { visits: 2 } })
    await project.contacts.create('bob@example.com')
    expect(await project.deleted('plan')).toEqual(['plan'])
    await project.contacts.update(id, { data: { plan: 'free' } })
    expect(await project.deleted('plan')).toEqual([])
    await project.drop('plan')
    expect(await project.deleted('plan')).toEqual(['plan'])
  })

  test.each<[string, (project: Awaited<ReturnType<typeof newProject>>) => Promise<unknown>]>([
    ['a new contact', (project) => project.contacts.create('bob@example.com', { data: { plan: 1 } })],
    ['a tracked event', (project) => project.track({ email: 'ada@example.com', event: 'e', data: { plan: 1 } })],
    ['an import', (project) => project.contacts.import('email,plan\nada@example.com,1\n')],
  ])('is back after %s with its key', async (_, write) => {
    const project = await newProject()
    await project.contacts.create('ada@example.com', { data: { plan: 'pro' } })
    await project.drop('plan')
    await write(project)
    expect(await project.deleted('plan')).toEqual([])
    const { rows } = await sql`select 1 from deleted_contact_fields where project_id = ${project.id}`.execute(sterna.db)
    expect(rows).toEqual([])
  })

  test('that no contact ever had does not count as deleted', async () => {
    const project = await newProject()
    expect((await project.drop('never')).body).toEqual({ deletedFrom: 0 })
    expect(await project.deleted('never')).toEqual([])
  })

  test('of another project does not count as deleted', async () => {
    const [project, other] = [await newProject(), await newProject()]
    for (const { contacts } of [project, other]) await contacts.create('ada@example.com', { data: { plan: 'pro' } })
    await project.drop('plan')
    expect(await other.deleted('plan')).toEqual([])
    await other.contacts.create('bob@example.com', { data: { plan: 1 } })
    expect(await project.deleted('plan')).toEqual(['plan'])
  })

  test('is not back if the write that brings it back fails', async () => {
    const project = await newProject()
    await project.contacts.create('ada@example.com', { data: { plan: 'pro' } })
    await project.contacts.create('bob@example.com')
    const bob = await project.contacts.find('bob@example.com')
    await project.drop('plan')
    const { status } = await project.contacts.update(bob.id, { email: 'ada@example.com', data: { plan: 1 } })
    expect(status).toBe(409)
    expect(await project.deleted('plan')).toEqual(['plan'])
  })

  test('is back, with a reaction, if a contact gets it while it is being deleted', async () => {
    const project = await newProject()
    await project.contacts.create('ada@example.com', { data: { plan: 'pro' } })
    await transact(sterna.db, (tx) => listenTo(tx, { projectId: project.id, listener: 'test:1' }, ['field:plan']))
    const reactions = () => many(sterna.db, sql`select topics from reactions where project_id = ${project.id}`)
    let writing: Promise<unknown> | undefined
    await transact(sterna.db, async (tx) => {
      expect(await unregisterField(tx, project.id, 'plan')).toBe(true)
      writing = project.contacts.create('bob@example.com', { data: { plan: 'new' } })
      // The snapshot of this statement is older than the deletion that it waits for.
      await expect.poll(isWaitingForFields, { interval: 5 }).toBe(true)
    })
    await writing
    expect(await project.deleted('plan')).toEqual([])
    expect(await reactions()).toEqual([{ topics: ['field:plan'] }, { topics: ['field:plan'] }])
  })

  test('is forgotten by a reset', async () => {
    const project = await newProject()
    await project.contacts.create('ada@example.com', { data: { plan: 'pro' } })
    await project.drop('plan')
    await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)
    expect(await project.deleted('plan')).toEqual([])
    const { count } = await one(
      sterna.db,
      sql<{ count: number }>`select count(*)::int as count from deleted_contact_fields where project_id = ${project.id}`,
    )
    expect(count).toBe(0)
  })
})

const isWaitingForFields = async () =>
  (
    await many(
      sterna.db,
      sql`
        select 1 from pg_locks l join pg_stat_activity a on a.pid = l.pid
        where l.locktype = 'advisory' and not l.granted and a.datname = current_database()
      `,
    )
  ).length > 0
