import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { connect, many, one, transact } from '../../../src/db/index.ts'
import { recordFeedback } from '../../../src/delivery/feedback/reports/record.ts'
import { dropOldSoftBounces } from '../../../src/delivery/feedback/reports/soft-bounce.ts'
import type { Feedback } from '../../../src/delivery/transport/transport.ts'
import { createLog } from '../../../src/lib/process/log.ts'
import { type Answer, useApp } from '../../support/app.ts'
import { eventually } from '../../support/eventually.ts'
import { newSendingProject, type SendingProject } from '../../support/project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
const ADA = 'ada@example.com'

const issues = ({ status, body }: Answer) => [
  status,
  body.error?.errors?.map(({ field, code }: { field: string; code: string }) => [field, code]),
]
type Event = { name: string; data: Record<string, unknown> | null; emailId: string | null }
type Suppression = { address: string | null; domain: string | null; reason: string }

const newProject = () => newSendingProject(sterna).with(suppressions)

/** Requests about suppressions. */
const suppressions = ({ id, call, owner, send, sent, contacts }: SendingProject) => ({
  send: async (to: string): Promise<string> => (await send({ to })).body.data.emails[0].email,
  /** Sends and tells how it ended. */
  async ended(to: string): Promise<[string, string | null]> {
    const { status, error } = await sent({ to })
    return [status, error]
  },
  list: async (query = ''): Promise<Suppression[]> => (await call('GET', `/suppressions${query}`)).body.data,
  add: (body: object) => call('POST', '/suppressions', body),
  lift: (what: string) => call('DELETE', `/suppressions/${what}`),
  events: async (name: string): Promise<Event[]> => (await call('GET', `/events?limit=100&eventName=${name}`)).body.data,
  contact: (address = ADA) => contacts.find(address),
  reset: () => owner.call('POST', `/users/@me/projects/${id}/reset`),
  /** As if a provider told it. */
  hear: (emailId: string, feedback: Feedback) => transact(sterna.db, (tx) => recordFeedback(tx, { projectId: id, id: emailId }, feedback)),
})
type Project = Awaited<ReturnType<typeof newProject>>

let project: Project
beforeAll(async () => {
  project = await newProject()
})

describe('a suppression by hand', () => {
  test('of an address skips every email, until it is removed', async () => {
    const added = await project.add({ address: ' Grace@Example.com ' })
    expect([added.status, added.body]).toEqual([
      201,
      { address: 'grace@example.com', domain: null, reason: 'MANUAL', createdAt: expect.any(String) },
    ])
    const again = await project.add({ address: 'grace@example.com' })
    expect([again.status, again.body]).toEqual([200, added.body])
    expect(await project.ended('grace@example.com')).toEqual(['SKIPPED', 'suppressed'])
    expect(await project.ended(ADA)).toEqual(['SENT', null])
    const lifted = await project.lift('GRACE@example.com')
    expect([lifted.status, lifted.body]).toEqual([204, ''])
    expect(await project.ended('grace@example.com')).toEqual(['SENT', null])
    expect((await project.lift('grace@example.com')).status).toBe(404)
  })

  test('of a domain skips the emails to all its addresses, and no others', async () => {
    const added = await project.add({ domain: 'Blocked.example' })
    expect([added.status, added.body]).toMatchObject([201, { address: null, domain: 'blocked.example', reason: 'MANUAL' }])
    expect((await project.add({ domain: 'blocked.example' })).status).toBe(200)
    expect(await project.ended('a@blocked.example')).toEqual(['SKIPPED', 'suppressed'])
    expect(await project.ended('b@blocked.example')).toEqual(['SKIPPED', 'suppressed'])
    for (const other of ['a@sub.blocked.example', 'a@unblocked.example', 'blocked.example@example.com'])
      expect([other, await project.ended(other)]).toEqual([other, ['SENT', null]])
    expect((await project.lift('blocked.example')).status).toBe(204)
    expect(await project.ended('a@blocked.example')).toEqual(['SENT', null])
  })

  test('of a domain written in its own letters is that of its ASCII form', async () => {
    expect((await project.add({ domain: 'bücher.example' })).body.domain).toBe('xn--bcher-kva.example')
    expect(await project.ended('a@bücher.example')).toEqual(['SKIPPED', 'suppressed'])
    expect((await project.lift('b%C3%BCcher.example')).status).toBe(204)
  })

  test('is the project’s own', async () => {
    const other = await newProject()
    await other.add({ address: 'own@example.com' })
    expect(await project.ended('own@example.com')).toEqual(['SENT', null])
    expect((await project.lift('own@example.com')).status).toBe(404)
    expect(await other.list()).toHaveLength(1)
  })

  test.each<[string, object, [string, string]]>([
    ['nothing', {}, ['address', 'required']],
    ['both', { address: ADA, domain: 'example.com' }, ['address', 'required']],
    ['no address', { address: 'example.com' }, ['address', 'invalid_string']],
    ['no domain', { domain: 'a@example.com' }, ['domain', 'invalid_string']],
    ['a suffix that nobody owns', { domain: 'co.uk' }, ['domain', 'invalid_string']],
    ['a number', { address: 1 }, ['address', 'invalid_type']],
  ])('needs an address or a domain: not %s', async (_, body, issue) => {
    expect(issues(await project.add(body))).toEqual([422, [issue]])
  })

  test('holds for an email that is already queued', async () => {
    const id = await project.send('delay@example.net')
    await eventually(async () => expect((await project.email(id)).timeline.at(-1).what).toBe('deferred'))
    await project.add({ domain: 'example.net' })
    await sql`update emails set due_at = now() where project_id = ${project.id} and id = ${id}`.execute(sterna.db)
    await eventually(async () => expect(await project.email(id)).toMatchObject({ status: 'SKIPPED', error: 'suppressed' }))
  })
})

describe('the list', () => {
  test('has everything once, newest first, by reason when asked', async () => {
    const own = await newProject()
    const rows = Array.from({ length: 45 }, (_, index) => ({
      address: index % 9 === 0 ? `@d${index}.example` : `a${index}@example.com`,
      reason: ['bounce', 'complaint', 'manual'][index % 3],
      // Some at the same time: then the address decides.
      at: new Date(Date.UTC(2026, 0, 1, 0, 0, Math.floor(index / 4))).toISOString(),
    }))
    await sql`
      insert into suppressions (project_id, address, reason, created_at)
      select ${own.id}, address, reason, at from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(address text, reason text, at timestamptz)
    `.execute(sterna.db)
    for (const reason of [undefined, 'BOUNCE', 'COMPLAINT', 'MANUAL']) {
      const filter = reason ? `&reason=${reason}` : ''
      const seen: string[] = []
      let cursor: string | null = ''
      for (let page = 0; cursor !== null; page++) {
        const { status, body }: Answer = await own.call('GET', `/suppressions?limit=7${filter}${cursor && `&cursor=${cursor}`}`)
        expect([status, body.total]).toEqual([200, page ? 0 : reason ? 15 : 45])
        for (const each of body.data) if (reason) expect(each.reason).toBe(reason)
        seen.push(...body.data.map(({ address, domain }: Suppression) => address ?? `@${domain}`))
        cursor = body.cursor
      }
      const expected = rows
        .filter((row) => !reason || row.reason === reason.toLowerCase())
        .toSorted((a, b) => (a.at === b.at ? (a.address < b.address ? 1 : -1) : a.at < b.at ? 1 : -1))
      expect(seen).toEqual(expected.map(({ address }) => address))
    }
  })

  test('refuses other reasons, and cursors that are not its own', async () => {
    const own = await newProject()
    for (const address of ['a@example.com', 'b@example.com']) await own.add({ address })
    expect(issues(await own.call('GET', '/suppressions?reason=OTHER'))).toEqual([422, [['reason', 'invalid_enum_value']]])
    const { cursor } = (await own.call('GET', '/suppressions?limit=1')).body
    expect((await own.call('GET', `/suppressions?reason=MANUAL&cursor=${cursor}`)).status).toBe(400)
    expect((await project.call('GET', `/suppressions?cursor=${cursor}`)).status).toBe(400)
    expect((await own.call('GET', `/suppressions?cursor=${cursor}`)).status).toBe(200)
  })
})

describe('what came back for good', () => {
  test.each([
    ['bounce', 'BOUNCE'],
    ['complaint', 'COMPLAINT'],
  ])('by a %s suppresses the address and unsubscribes the contact, with the reason', async (what, reason) => {
    const own = await newProject()
    const address = `${what}@example.com`
    const contact = (await own.call('POST', '/contacts', { email: address, subscribed: true })).body
    await own.send(address)
    await eventually(async () => expect(await own.list()).toMatchObject([{ address, domain: null, reason }]))
    expect((await own.events('contact.unsubscribed')).map(({ data }) => data)).toEqual([{ reason: what }])
    expect((await own.contact(address)).subscribed).toBe(false)
    expect((await own.call('GET', `/contacts/${contact.id}/consent`)).body.data).toMatchObject([{ subscribed: false, source: what }])
    expect(await own.ended(address)).toEqual(['SKIPPED', 'suppressed'])
    expect((await own.add({ address })).body.reason).toBe(reason)
  })

  test('stays unsubscribed when the suppression is lifted', async () => {
    const own = await newProject()
    await own.call('POST', '/contacts', { email: 'bounce@example.com', subscribed: true })
    await own.send('bounce@example.com')
    await eventually(async () => expect(await own.list()).toHaveLength(1))
    expect((await own.lift('bounce@example.com')).status).toBe(204)
    expect((await own.contact('bounce@example.com')).subscribed).toBe(false)
  })
})

describe('what came back for a while', () => {
  const FULL: Feedback = { is: 'soft-bounce', reason: 'Mailbox full' }

  async function newReader() {
    const own = await newProject()
    await own.call('POST', '/contacts', { email: ADA, subscribed: true })
    const sent = async () => {
      const id = await own.send(ADA)
      await eventually(async () => expect(['SENT', 'SKIPPED']).toContain((await own.email(id)).status))
      return id
    }
    return { own, sent, full: async () => own.hear(await sent(), FULL) }
  }
  const times = async (count: number, work: () => Promise<unknown>) => {
    for (let done = 0; done < count; done++) await work()
  }

  test('is an event, and nothing else, four times; the fifth suppresses and unsubscribes', async () => {
    const { own, sent, full } = await newReader()
    await times(4, full)
    expect(await own.list()).toEqual([])
    expect((await own.contact()).subscribed).toBe(true)
    const bounces = await own.events('email.bounce')
    expect(bounces).toHaveLength(4)
    expect(bounces[0]!.data).toMatchObject({ bounceType: 'Transient', reason: 'Mailbox full', emailId: bounces[0]!.emailId, subject: 'Hi' })
    const id = await sent()
    await own.hear(id, FULL)
    expect(await own.list()).toMatchObject([{ address: ADA, reason: 'BOUNCE' }])
    expect((await own.events('contact.unsubscribed')).map(({ data }) => data)).toEqual([{ reason: 'bounce' }])
    expect(await own.ended(ADA)).toEqual(['SKIPPED', 'suppressed'])
    // It did not come back for good.
    expect(await own.email(id)).toMatchObject({ status: 'SENT', bouncedAt: null })
    expect((await own.email(id)).timeline.map(({ what }: { what: string }) => what)).toContain('email.bounce')
  })

  test('counts once for each email, however often it is reported', async () => {
    const { own, sent } = await newReader()
    const id = await sent()
    await times(6, () => own.hear(id, FULL))
    expect(await own.list()).toEqual([])
    expect(await own.events('email.bounce')).toHaveLength(1)
  })

  test('does not count any more once something was delivered', async () => {
    const { own, sent, full } = await newReader()
    await times(4, full)
    await own.hear(await sent(), { is: 'delivery' })
    await times(4, full)
    expect(await own.list()).toEqual([])
    await full()
    expect(await own.list()).toHaveLength(1)
  })

  test('does not count when a later email was delivered, in whatever order they are reported', async () => {
    const { own, sent } = await newReader()
    const at = (minutesAgo: number) => new Date(Date.now() - minutesAgo * 60_000).toISOString()
    const emails: string[] = []
    for (let index = 0; index < 7; index++) emails.push(await sent())
    await sql`update emails set created_at = now() - interval '1 day' where project_id = ${own.id}`.execute(sterna.db)
    await own.hear(emails[0]!, { is: 'delivery', at: at(30) })
    for (const id of emails.slice(1, 5)) await own.hear(id, { ...FULL, at: at(60) })
    await own.hear(emails[5]!, { ...FULL, at: at(20) })
    expect(await own.list()).toEqual([])
    // Told late, an earlier delivery forgives nothing that came after it.
    await own.hear(emails[6]!, { is: 'delivery', at: at(25) })
    const rows = sql<{ forgiven: boolean }>`select forgiven from soft_bounces where project_id = ${own.id} order by created_at`
    expect((await many(sterna.db, rows)).map(({ forgiven }) => forgiven)).toEqual([true, true, true, true, false])
  })

  test('does not count any more after 30 days, and is forgotten after 60', async () => {
    const { own, full } = await newReader()
    await times(4, full)
    await sql`update soft_bounces set created_at = now() - interval '31 days' where project_id = ${own.id}`.execute(sterna.db)
    await full()
    expect(await own.list()).toEqual([])
    await sql`
      update soft_bounces set created_at = created_at - interval '30 days'
      where project_id = ${own.id} and created_at < now() - interval '1 day'
    `.execute(sterna.db)
    await transact(sterna.db, (tx) => dropOldSoftBounces(tx, 1_000))
    expect(await many(sterna.db, sql`select 1 from soft_bounces where project_id = ${own.id}`)).toHaveLength(1)
  })

  test('does not count any more once the suppression was lifted', async () => {
    const { own, full } = await newReader()
    await times(5, full)
    expect((await own.lift(ADA)).status).toBe(204)
    await times(4, full)
    expect(await own.list()).toEqual([])
  })

  test('counts when two are reported at once', async () => {
    const { own, sent, full } = await newReader()
    await times(3, full)
    const [one, two] = [await sent(), await sent()]
    let second: Promise<unknown> | undefined
    await transact(sterna.db, async (tx) => {
      await recordFeedback(tx, { projectId: own.id, id: one }, FULL)
      second = own.hear(two, FULL)
      // The other has come as far as it can: to its end, or to where it waits for this one.
      const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await eventually(async () => expect((await many(sterna.db, waiting)).length).toBeGreaterThan(0))
    })
    await second
    expect(await own.list()).toHaveLength(1)
  })

  test('of an unknown email has no effect', async () => {
    const { own } = await newReader()
    await own.hear('00000000-0000-7000-8000-000000000000', FULL)
    expect(await own.events('email.bounce')).toEqual([])
  })

  test('can be tried in the sandbox', async () => {
    const own = await newProject()
    await own.send('full@example.com')
    await eventually(async () => expect((await own.events('email.bounce')).map(({ data }) => data!.bounceType)).toEqual(['Transient']))
    expect(await own.list()).toEqual([])
  })

  test('goes when the project is reset, and suppressions stay', async () => {
    const { own, full } = await newReader()
    await times(2, full)
    await own.add({ address: 'kept@example.com' })
    expect((await own.reset()).status).toBe(200)
    await eventually(async () => expect(await many(sterna.db, sql`select 1 from soft_bounces where project_id = ${own.id}`)).toEqual([]))
    expect(await own.list()).toHaveLength(1)
  })
})

test('recording a delivery reads the email and its content, not the others of the project', async () => {
  const project = await newProject()
  await project.ended(ADA)
  const copies = (table: string) => sql`
    insert into ${sql.table(table)}
    select (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid()))).* from ${sql.table(table)} t, generate_series(1, 3000)
    where t.project_id = ${project.id}
  `
  for (const table of ['emails', 'contents']) await copies(table).execute(sterna.db)
  await sql`analyze emails, contents`.execute(sterna.db)
  const ids = await many(sterna.db, sql<{ id: string }>`select id from emails where project_id = ${project.id} order by id limit 8`)
  // One connection, so that its statistics can be read.
  const session = connect({ url: sterna.url, max: 1, log: createLog('silent') })
  const rowsRead = async () => {
    await sql`select pg_stat_force_next_flush()`.execute(session)
    const tables = sql`relname in ('emails', 'contents')`
    return (
      await one(session, sql<{ n: number }>`select sum(seq_tup_read + idx_tup_fetch)::int as n from pg_stat_user_tables where ${tables}`)
    ).n
  }
  const before = await rowsRead()
  // After the fifth time PostgreSQL plans a prepared statement for any parameters.
  for (const { id } of ids) await transact(session, (tx) => recordFeedback(tx, { projectId: project.id, id }, { is: 'delivery' }))
  const read = (await rowsRead()) - before
  await session.destroy()
  expect(read).toBeLessThan(20 * ids.length)
})
