import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { compactCounts, recountContacts } from '../../src/contacts/counts.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { useApp } from '../support/app.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
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
    if (kind === 'compact') await transact(sterna.db, (tx) => compactCounts(tx))
    if (kind === 'recount') await transact(sterna.db, (tx) => recountContacts(tx, project.id))
  }

  test('is right after any mix of operations, some of them concurrent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 3, maxLength: 8 }), async (rounds) => {
        const project = await newProject()
        for (const steps of rounds) {
          await Promise.all(steps.map((each) => act(project, each)))
          expect(await totals(project)).toEqual(await counted(project))
        }
        await transact(sterna.db, (tx) => compactCounts(tx))
        expect(await totals(project)).toEqual(await counted(project))
        await transact(sterna.db, (tx) => recountContacts(tx, project.id))
        expect(await totals(project)).toEqual(await counted(project))
      }),
      { numRuns: 8, interruptAfterTimeLimit: 8_000, markInterruptAsFailure: false },
    )
  })

  test('is repaired by a recount, and compaction leaves one row', async () => {
    const project = await newProject()
    for (let n = 0; n < 6; n++) await project.contacts.create(`p${n}@example.com`, { subscribed: n > 0 })
    await sql`insert into contact_counts (project_id, total, subscribed) values (${project.id}, 1000, -50)`.execute(sterna.db)
    expect((await project.contacts.list()).total).toBe(1006)
    await transact(sterna.db, (tx) => recountContacts(tx, project.id))
    expect(await totals(project)).toEqual({ all: 6, subscribed: 5, unsubscribed: 1 })
    await project.contacts.create('one.more@example.com')
    await transact(sterna.db, (tx) => compactCounts(tx))
    expect(await totals(project)).toEqual({ all: 7, subscribed: 6, unsubscribed: 1 })
    expect(await one(sterna.db, sql`select count(*)::int as n from contact_counts where project_id = ${project.id}`)).toEqual({ n: 1 })
  })

  test('stays right if a recount starts during a compaction', async () => {
    const project = await newProject()
    for (let n = 0; n < 4; n++) await project.contacts.create(`p${n}@example.com`)
    const waiting = sql<{ n: number }>`
      select count(*)::int as n from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%advisory%'
    `
    let release = () => {}
    const compacted = new Promise<void>((done) => {
      release = done
    })
    const compacting = transact(sterna.db, async (tx) => {
      await compactCounts(tx)
      await compacted
    })
    await expect
      .poll(
        async () =>
          (
            await one(
              sterna.db,
              sql<{
                n: number
              }>`select count(*)::int as n from pg_stat_activity where datname = current_database() and state = 'idle in transaction' and query like '%with several as%'`,
            )
          ).n,
      )
      .toBe(1)
    const recounting = transact(sterna.db, (tx) => recountContacts(tx, project.id))
    // The recount either waits for the compaction or finishes without it. The job of the worker may wait, too.
    await Promise.race([recounting, expect.poll(async () => (await one(sterna.db, waiting)).n).not.toBe(0)])
    release()
    await Promise.all([compacting, recounting])
    expect((await project.contacts.list()).total).toBe(4)
  })
})
test('the setup state of a project has the number of its contacts', async () => {
  const project = await sterna.newProject()
  const state = async () => (await project.owner.call('GET', `/projects/${project.id}/setup-state`)).body.contactCount
  expect(await state()).toBe(0)
  await sterna.call('POST', '/contacts', { key: project.sk, body: { email: 'ada@example.com' } })
  expect(await state()).toBe(1)
})
