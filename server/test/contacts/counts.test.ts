import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { contactLedger } from '../../src/contacts/record/counts.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { useSharedApp } from '../support/app.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())
type Project = Awaited<ReturnType<typeof newProject>>

describe('the number of contacts', () => {
  const totals = async (project: Project) => {
    const [all, yes, no] = await Promise.all(
      ['', '?subscribed=true', '?subscribed=false'].map((query) => project.contacts.list(`${query}${query ? '&' : '?'}limit=1`)),
    )
    return { all: all.total, subscribed: yes.total, unsubscribed: no.total }
  }
  const counted = async (project: Project) => {
    const rows = await project.contacts.rows()
    const subscribed = rows.filter((row) => row.subscribed).length
    return { all: rows.length, subscribed, unsubscribed: rows.length - subscribed }
  }

  type Step = { kind: string; who: number[]; subscribed: boolean }
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom(
      'post',
      'post',
      'patch',
      'patch',
      'delete',
      'rename',
      'bulk-subscribe',
      'bulk-unsubscribe',
      'bulk-delete',
      'import',
      'compact',
      'recount',
    ),
    who: fc.array(fc.nat(11), { minLength: 1, maxLength: 4 }),
    subscribed: fc.boolean(),
  })

  async function act(project: Project, { kind, who, subscribed }: Step) {
    const addresses = who.map((n) => `p${n}@example.com`)
    const rows = await many(
      sterna.db,
      sql<{ id: string }>`select id from contacts where project_id = ${project.id} and email = any(${addresses})`,
    )
    const ids = [...rows.map(({ id }) => id), randomUUID()]
    if (kind === 'post') await Promise.all(addresses.map((email) => project.contacts.create(email, { subscribed })))
    if (kind === 'patch') await Promise.all(ids.map((id) => project.contacts.update(id, { subscribed })))
    if (kind === 'rename') await Promise.all(ids.map((id) => project.contacts.update(id, { email: addresses[0], subscribed })))
    if (kind === 'delete') await Promise.all(ids.map((id) => project.call('DELETE', `/contacts/${id}`)))
    if (kind.startsWith('bulk-')) await project.contacts.bulk(kind.slice('bulk-'.length), { contactIds: ids })
    if (kind === 'import')
      await project.contacts.import(
        `email,subscribed\n${addresses.map((email) => `${email},${subscribed ? 'yes' : 'no'}`).join('\n')}\nbad`,
      )
    if (kind === 'compact') await contactLedger.fold(sterna.db)
    if (kind === 'recount') await contactLedger.repair(sterna.db, project.id)
  }

  test('is right after any mix of operations, some of them concurrent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 3, maxLength: 8 }), async (rounds) => {
        const project = await newProject()
        for (const steps of rounds) {
          await Promise.all(steps.map((each) => act(project, each)))
          expect(await totals(project)).toEqual(await counted(project))
        }
        await contactLedger.fold(sterna.db)
        expect(await totals(project)).toEqual(await counted(project))
        await contactLedger.repair(sterna.db, project.id)
        expect(await totals(project)).toEqual(await counted(project))
      }),
      { numRuns: 5 },
    )
  })

  test('is repaired by a recount, and folding leaves one row', async () => {
    const project = await newProject()
    for (let n = 0; n < 6; n++) await project.contacts.create(`p${n}@example.com`, { subscribed: n > 0 })
    await transact(sterna.db, (tx) => contactLedger.append(tx, [{ project_id: project.id, total: 1000, subscribed: -50 }]))
    expect((await project.contacts.list()).total).toBe(1006)
    expect((await contactLedger.repair(sterna.db, project.id)).contact_counts).toBe(1)
    expect(await totals(project)).toEqual({ all: 6, subscribed: 5, unsubscribed: 1 })
    await project.contacts.create('one.more@example.com')
    await contactLedger.fold(sterna.db)
    expect(await totals(project)).toEqual({ all: 7, subscribed: 6, unsubscribed: 1 })
    expect(await one(sterna.db, sql`select total::int, subscribed::int from contact_counts where project_id = ${project.id}`)).toEqual({
      total: 7,
      subscribed: 6,
    })
    expect(await many(sterna.db, sql`select 1 from contact_count_deltas where project_id = ${project.id}`)).toEqual([])
  })
})
test('the setup state of a project has the number of its contacts', async () => {
  const project = await sterna.newProject()
  const state = async () => (await project.owner.call('GET', `/projects/${project.id}/setup-state`)).body.contactCount
  expect(await state()).toBe(0)
  await sterna.call('POST', '/contacts', { key: project.sk, body: { email: 'ada@example.com' } })
  expect(await state()).toBe(1)
})
