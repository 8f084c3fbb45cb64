import { randomBytes, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { connect, many, one, type Pool, transact } from '../../src/db/index.ts'
import { addUpDeltas, recountEvents } from '../../src/events/counts.ts'
import { wipeEventCounts } from '../../src/events/forget.ts'
import { listenTo, type Topic } from '../../src/events/listen.ts'
import { createPartitions, dropOldEvents } from '../../src/events/partitions.ts'
import { type NewEvent, recordEvents } from '../../src/events/record.ts'
import { removeEvents } from '../../src/events/remove.ts'
import { createLog, type Log } from '../../src/lib/log.ts'
import { type Answer, useApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })

const PROJECTS_OF_A_PERSON = 50
let owner: Awaited<ReturnType<typeof sterna.newPerson>>
let ledgers = 0

type Listed = { id: string; name: string; contactId: string | null; contact: { id: string; email: string } | null }

/** A project with what a customer does with its events. */
async function newLedger() {
  if (ledgers++ % PROJECTS_OF_A_PERSON === 0) owner = await sterna.newPerson()
  const { id, pk, sk } = await sterna.newProject(owner)
  const call = (method: string, url: string, body?: unknown) =>
    sterna.call(method, url, { key: sk, ...(body === undefined ? {} : { body }) })
  return {
    id,
    sk,
    call,
    owner,
    track: async (event: string, { email = ADA, ...more }: { email?: string; subscribed?: boolean; data?: object } = {}) => {
      const { status, body } = await sterna.call('POST', '/v1/track', { key: pk, body: { email, event, ...more } })
      expect(status).toBe(200)
      return body.data as { contact: string; event: string }
    },
    /** As the service writes them, only faster. */
    write: (events: Omit<NewEvent, 'projectId'>[]) =>
      transact(sterna.db, (tx) =>
        recordEvents(
          tx,
          events.map((event) => ({ projectId: id, ...event })),
        ),
      ),
    list: async (query = ''): Promise<{ data: Listed[]; events: Listed[]; cursor: string | null; hasMore: boolean; total: number }> =>
      (await call('GET', `/events${query}`)).body,
    names: async (): Promise<string[]> => (await call('GET', '/events/names')).body.eventNames,
    stats: async (query = ''): Promise<{ name: string; count: number }[]> => (await call('GET', `/events/stats${query}`)).body,
    usage: async (name: string) => (await call('GET', `/events/${encodeURIComponent(name)}/usage`)).body,
    remove: (name: string) => call('DELETE', `/events/${encodeURIComponent(name)}`),
    rows: (name?: string) =>
      many(
        sterna.db,
        sql<{ id: string; name: string }>`
          select id, name from events where project_id = ${id} ${name === undefined ? sql`` : sql`and name = ${name}`} order by id
        `,
      ),
    /** What the lists, the statistics and the names say, against what there is. */
    async expectTrueCounts() {
      const counts = await many(
        sterna.db,
        sql<{ name: string; count: number }>`
          select name, count(*)::int as count from events where project_id = ${id} group by 1 order by 2 desc, 1
        `,
      )
      expect(await this.stats()).toEqual(counts)
      expect((await this.list('?limit=1')).total).toBe(counts.reduce((sum, { count }) => sum + count, 0))
      expect(await this.names()).toEqual(counts.map(({ name }) => name))
    },
    /** Until everything that was asked of the workers is done. */
    settled: () =>
      expect
        .poll(() => many(sterna.db, sql`select 1 from graphile_worker._private_jobs where payload ->> 'projectId' = ${id}`), {
          timeout: 10_000,
          interval: 10,
        })
        .toEqual([]),
  }
}
type Ledger = Awaited<ReturnType<typeof newLedger>>

const ADA = 'ada@example.com'
const DAY = 86_400_000
const times = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))
const outcome = ({ status, body }: Answer) => [status, body.error?.code]

/** The id of an event of another time; the order of those at one time is left to chance. */
function idAt(time: number | string) {
  const hex = new Date(time).getTime().toString(16).padStart(12, '0')
  const random = randomBytes(10).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`
}

describe('the list of events', () => {
  test('shows whole records, newest first, under both names', async () => {
    const ledger = await newLedger()
    const first = await ledger.track('one', { data: { a: 1 } })
    const second = await ledger.track('two', { email: 'bob@example.com' })
    const [third] = await ledger.write([{ name: 'three' }])
    const list = await ledger.list()
    expect(Object.keys(list).sort()).toEqual(['cursor', 'data', 'events', 'hasMore', 'total'])
    expect(list.events).toEqual(list.data)
    const record = { projectId: ledger.id, emailId: null, createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) }
    expect(list).toMatchObject({ cursor: null, hasMore: false, total: 3 })
    expect(list.data).toEqual([
      { ...record, id: third, name: 'three', data: {}, contactId: null, contact: null },
      {
        ...record,
        id: second.event,
        name: 'two',
        data: {},
        contactId: second.contact,
        contact: { id: second.contact, email: 'bob@example.com' },
      },
      { ...record, id: first.event, name: 'one', data: { a: 1 }, contactId: first.contact, contact: { id: first.contact, email: ADA } },
    ])
  })

  test('shows the address a contact has now, and null for one that is gone', async () => {
    const ledger = await newLedger()
    const { contact } = await ledger.track('e')
    await ledger.call('PATCH', `/contacts/${contact}`, { email: 'new@example.com' })
    const gone = randomUUID()
    await ledger.write([{ name: 'e', contactId: gone }])
    expect((await ledger.list()).data.map((event) => [event.contactId, event.contact])).toEqual([
      [gone, null],
      [contact, { id: contact, email: 'new@example.com' }],
    ])
  })

  test.each([
    ['', 20],
    ['?limit=5', 5],
    ['?limit=100', 100],
    ['?limit=101', 100],
    ['?limit=99999999999', 100],
    ['?limit=0', 20],
    ['?limit=-3', 20],
    ['?limit=1.5', 20],
    ['?limit=all', 20],
    ['?limit=', 20],
  ])('with %j has %i of 120', async (query, expected) => {
    await full120()
    expect((await shared120!.list(query)).data).toHaveLength(expected)
  })
  let shared120: Ledger | undefined
  async function full120() {
    if (shared120) return
    shared120 = await newLedger()
    await shared120.write(times(120, (n) => ({ name: n % 3 ? 'other' : 'third' })))
  }

  test('walked page by page misses and repeats nobody while others write', async () => {
    const ledger = await newLedger()
    const { contact } = await ledger.track('e')
    await ledger.write(times(119, () => ({ name: 'e', contactId: contact })))
    const before = (await ledger.rows()).map(({ id }) => id)
    for (const path of ['/events', '/events?eventName=e', `/events/contact/${contact}`]) {
      const seen: string[] = []
      let cursor: string | null = null
      let pages = 0
      do {
        const query = `${path.includes('?') ? '&' : '?'}limit=15${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`
        const { body }: Answer = await ledger.call('GET', `${path}${query}`)
        expect(body.total === 0).toBe(cursor !== null)
        expect(body.hasMore).toBe(body.cursor !== null)
        seen.push(...body.data.map(({ id }: Listed) => id))
        cursor = body.cursor
        pages++
        await Promise.all(times(3, () => ledger.track('e')))
      } while (cursor)
      const known = new Set(before)
      expect(seen.filter((id) => known.has(id))).toEqual([...before].reverse())
      expect(new Set(seen).size).toBe(seen.length)
      expect(pages).toBeGreaterThanOrEqual(8)
    }
  })

  test('ends where it ends, also when the last page is full', async () => {
    const ledger = await newLedger()
    await ledger.write(times(4, () => ({ name: 'e' })))
    const first = await ledger.list('?limit=2')
    expect([first.hasMore, first.data.length]).toEqual([true, 2])
    const last = await ledger.list(`?limit=2&cursor=${first.cursor}`)
    expect([last.hasMore, last.cursor, last.data.length, last.total]).toEqual([false, null, 2, 0])
  })

  test('filters by name, and counts by it', async () => {
    const ledger = await newLedger()
    const other = await newLedger()
    await other.track('bought')
    await ledger.write([{ name: 'bought' }, { name: 'Bought' }, { name: 'bought ' }, { name: 'bought' }, { name: "it's 50%_" }])
    const list = await ledger.list('?eventName=bought&limit=1')
    expect([list.total, list.data.map(({ name }) => name), list.hasMore]).toEqual([2, ['bought'], true])
    expect(await ledger.list(`?eventName=${encodeURIComponent("it's 50%_")}`)).toMatchObject({ total: 1, data: [{ name: "it's 50%_" }] })
    expect(await ledger.list('?eventName=nothing')).toMatchObject({ total: 0, data: [], cursor: null, hasMore: false })
  })

  test('takes no cursor but its own', async () => {
    const [ledger, other] = [await newLedger(), await newLedger()]
    const { contact } = await ledger.track('e')
    await ledger.write(times(5, () => ({ name: 'e', contactId: contact })))
    await other.write(times(5, () => ({ name: 'e' })))
    const cursor = (await ledger.list('?limit=2')).cursor!
    const flipped = `${cursor.slice(0, 9)}${cursor[9] === 'A' ? 'B' : 'A'}${cursor.slice(10)}`
    const bad = [
      `/events?cursor=${(await other.list('?limit=2')).cursor}`,
      `/events?cursor=${(await ledger.list('?limit=2&eventName=e')).cursor}`,
      `/events?eventName=e&cursor=${cursor}`,
      `/events/contact/${contact}?cursor=${cursor}`,
      `/events?cursor=${(await ledger.call('GET', `/events/contact/${contact}?limit=2`)).body.cursor}`,
      `/events?cursor=${flipped}`,
      `/events?cursor=${cursor.slice(0, -2)}`,
      '/events?cursor=abc',
      `/events?cursor=${Buffer.from(JSON.stringify([randomUUID()])).toString('base64url')}`,
    ]
    for (const url of bad) expect([url, ...outcome(await ledger.call('GET', url))]).toEqual([url, 400, 'BAD_REQUEST'])
    expect((await ledger.call('GET', `/events?limit=2&cursor=${cursor}`)).status).toBe(200)
  })
})

describe('the events of a contact', () => {
  test('are theirs, and counted', async () => {
    const ledger = await newLedger()
    const { contact } = await ledger.track('one')
    await ledger.track('two')
    await ledger.track('two', { email: 'bob@example.com' })
    await ledger.write([{ name: 'nobody' }])
    const { body } = await ledger.call('GET', `/events/contact/${contact}`)
    expect(body).toMatchObject({ total: 2, hasMore: false, cursor: null })
    expect(body.data.map(({ name }: Listed) => name)).toEqual(['two', 'one'])
    expect(body.events).toEqual(body.data)
    expect(body.data[0].contact).toEqual({ id: contact, email: ADA })
  })

  test('of nobody here are a 404', async () => {
    const [ledger, other] = [await newLedger(), await newLedger()]
    const { contact } = await other.track('e')
    for (const id of [contact, randomUUID(), 'x', `${contact}x`]) {
      const answer = await ledger.call('GET', `/events/contact/${id}`)
      expect([...outcome(answer), answer.body.error.details]).toEqual([404, 'CONTACT_NOT_FOUND', { resource: 'contact', id }])
    }
  })

  test('go with the contact, however many, and nobody else loses any', async () => {
    const ledger = await newLedger()
    const { contact } = await ledger.track('e')
    await ledger.write(times(5_100, (n) => ({ name: n % 2 ? 'e' : 'f', contactId: contact })))
    await ledger.track('e', { email: 'bob@example.com' })
    await ledger.write([{ name: 'f' }])
    expect((await ledger.list()).total).toBe(5_103)
    expect((await ledger.call('DELETE', `/contacts/${contact}`)).status).toBe(204)
    await ledger.settled()
    expect((await ledger.rows()).map(({ name }) => name)).toEqual(['e', 'f'])
    await ledger.expectTrueCounts()
    expect(outcome(await ledger.call('GET', `/events/contact/${contact}`))).toEqual([404, 'CONTACT_NOT_FOUND'])
  })
})

test('names are those of this project, once each, the most frequent first, as long as there are such events', async () => {
  const [ledger, other] = [await newLedger(), await newLedger()]
  expect(await ledger.names()).toEqual([])
  for (const name of ['b', 'a', 'b', 'É', 'b']) await ledger.track(name)
  await other.track('c')
  await ledger.track('a', { subscribed: false })
  expect(new Set(await ledger.names())).toEqual(new Set(['a', 'b', 'contact.unsubscribed', 'É']))
  expect((await ledger.names()).slice(0, 2)).toEqual(['b', 'a'])
  await ledger.remove('b')
  expect(await ledger.names()).not.toContain('b')
})

test('of more than 10,000 names the most frequent are listed, and the answer says that there are more', async () => {
  const ledger = await newLedger()
  const list = async () => (await ledger.call('GET', '/events/names')).body
  await ledger.write([...times(9_999, (n) => ({ name: `a${n}` })), { name: 'zebra' }, { name: 'zebra' }])
  expect([(await list()).eventNames.length, (await list()).truncated]).toEqual([10_000, false])
  await ledger.write([{ name: 'one more' }])
  const { eventNames, truncated } = await list()
  expect([eventNames.length, eventNames[0], truncated]).toEqual([10_000, 'zebra', true])
})

describe('statistics', () => {
  let ledger: Ledger
  beforeAll(async () => {
    ledger = await newLedger()
    const other = await newLedger()
    const at = (name: string, time: string) => ({ name, id: idAt(time) })
    await ledger.write([
      at('a', '2026-01-30T23:59:59.999Z'),
      at('a', '2026-01-31T00:00:00.000Z'),
      at('b', '2026-01-31T23:59:59.999Z'),
      at('b', '2026-02-01T00:00:00.000Z'),
      at('b', '2026-02-02T12:00:00.000Z'),
    ])
    await other.write([at('a', '2026-01-31T00:00:00.000Z')])
  })

  test.each<[string, [string, number][]]>([
    [
      '',
      [
        ['b', 3],
        ['a', 2],
      ],
    ],
    [
      '?startDate=&endDate=',
      [
        ['b', 3],
        ['a', 2],
      ],
    ],
    [
      '?startDate=2026-01-31',
      [
        ['b', 3],
        ['a', 1],
      ],
    ],
    [
      '?endDate=2026-01-31',
      [
        ['a', 2],
        ['b', 1],
      ],
    ],
    [
      '?startDate=2026-01-31&endDate=2026-01-31',
      [
        ['a', 1],
        ['b', 1],
      ],
    ],
    ['?startDate=2026-02-01&endDate=2026-02-02', [['b', 2]]],
    [
      '?startDate=2026-01-31T23:00:00Z&endDate=2026-02-01T00:00:00.000Z',
      [
        ['b', 2],
        ['a', 1],
      ],
    ],
    [
      '?startDate=2026-02-01T00:30:00%2B01:00&endDate=2026-01-31',
      [
        ['a', 1],
        ['b', 1],
      ],
    ],
    [
      '?startDate=2026-01-31T12:00&endDate=2026-01-31T12:00:00',
      [
        ['a', 1],
        ['b', 1],
      ],
    ],
    ['?startDate=2026-02-02&endDate=2026-01-31', []],
    ['?startDate=2030-01-01', []],
    ['?endDate=0001-01-01', []],
    ['?startDate=9999-12-31', []],
  ])('for %j are %j', async (query, expected) => {
    expect((await ledger.stats(query)).map(({ name, count }) => [name, count])).toEqual(expected)
    await transact(sterna.db, (tx) => addUpDeltas(tx))
    expect((await ledger.stats(query)).map(({ name, count }) => [name, count])).toEqual(expected)
  })

  test.each([
    'yesterday',
    '2026',
    '2026-13-01',
    '2026-02-30',
    '2026-02-30T00:00:00Z',
    '2026-04-31T12:00:00%2B02:00',
    '2026-01-31T25:00:00Z',
    '2026-01-31T12:61:00Z',
    '2026-01-31 12:00',
    '31.01.2026',
    '1767225600000',
    '-000001-01-01',
    '%2B010000-01-01',
    '0000-01-01',
    '0001-01-01T00:00:00%2B01:00',
    '9999-12-31T23:59:59-01:00',
    "2026-01-31'",
    '2026-01-31T12:00:00Zx',
  ])('for %s are a 400', async (date) => {
    for (const field of ['startDate', 'endDate']) {
      const answer = await ledger.call('GET', `/events/stats?${field}=${date}`)
      expect([...outcome(answer), answer.body.error.message]).toEqual([400, 'BAD_REQUEST', expect.stringContaining(field)])
    }
  })
})

test('usage tells how often, of how many contacts, and what may be deleted', async () => {
  const [ledger, other] = [await newLedger(), await newLedger()]
  for (const email of [ADA, 'bob@example.com', ADA]) await ledger.track('e', { email })
  await ledger.write([{ name: 'e' }])
  await other.track('e', { email: 'eve@example.com' })
  await ledger.track('x', { subscribed: false })
  const nowhere = { usedInSegments: [], usedInCampaigns: [], usedInWorkflows: [] }
  expect(await ledger.usage('e')).toEqual({ ...nowhere, totalCount: 4, uniqueContacts: 2, canDelete: true })
  expect(await ledger.usage('contact.unsubscribed')).toEqual({ ...nowhere, totalCount: 1, uniqueContacts: 1, canDelete: false })
  expect(await ledger.usage('never')).toEqual({ ...nowhere, totalCount: 0, uniqueContacts: 0, canDelete: true })
})

test('usage of an event called "contact" is told like that of any other', async () => {
  const ledger = await newLedger()
  await ledger.track('contact')
  expect(await ledger.usage('contact')).toMatchObject({ totalCount: 1, canDelete: true })
})

describe('deleting by name', () => {
  test('removes all of that name so far, and tells how many', async () => {
    const [ledger, other] = [await newLedger(), await newLedger()]
    await ledger.write([...times(2_300, () => ({ name: 'gone' })), ...times(3, () => ({ name: 'Gone' }))])
    await other.write([{ name: 'gone' }])
    // As one that is recorded a moment later.
    await ledger.write([{ name: 'gone', id: idAt(Date.now() + DAY) }])
    expect((await ledger.remove('gone')).body).toEqual({ deletedCount: 2_300 })
    expect((await ledger.rows()).map(({ name }) => name)).toEqual(['Gone', 'Gone', 'Gone', 'gone'])
    expect(await other.rows()).toHaveLength(1)
    await ledger.expectTrueCounts()
    await other.expectTrueCounts()
    expect((await ledger.remove('gone')).body).toEqual({ deletedCount: 0 })
    expect((await ledger.remove('never')).body).toEqual({ deletedCount: 0 })
  })

  test.each(['a/b', '%2f?#&', '字'.repeat(255), '🛒'.repeat(127), "'; drop table events; --"])('removes %j', async (name) => {
    const ledger = await newLedger()
    await ledger.track(name)
    expect((await ledger.remove(name)).body).toEqual({ deletedCount: 1 })
    expect(await ledger.rows()).toEqual([])
  })

  test.each(['email.sent', 'contact.subscribed', 'CONTACT.unsubscribed', 'segment.x.entry', 'em\u200bail.x'])(
    'of %j is a plain 400',
    async (name) => {
      const ledger = await newLedger()
      await ledger.write([{ name }])
      const answer = await ledger.remove(name)
      expect([answer.status, Object.keys(answer.body), typeof answer.body.error]).toEqual([400, ['error'], 'string'])
      expect(await ledger.rows()).toHaveLength(1)
    },
  )

  test('goes on after a failure where it was, and counts each event once', async () => {
    const ledger = await newLedger()
    await ledger.write(times(4_500, () => ({ name: 'gone' })))
    await sql`
      create sequence pages;
      create function fail_once() returns trigger language plpgsql as $$
        begin if nextval('pages') = 2 then raise exception 'a failure'; end if; return null; end $$;
      create trigger fail_once after delete on events for each statement execute function fail_once()
    `.execute(sterna.db)
    try {
      expect((await ledger.remove('gone')).body).toEqual({ deletedCount: 4_500 })
      expect((await one(sterna.db, sql<{ n: string }>`select last_value as n from pages`)).n).toBe('4')
    } finally {
      await sql`drop trigger fail_once on events; drop function fail_once; drop sequence pages`.execute(sterna.db)
    }
    expect(await ledger.rows()).toEqual([])
    await ledger.expectTrueCounts()
  })
})

describe('counts', () => {
  const addUp = () => transact(sterna.db, (tx) => addUpDeltas(tx))
  const sumOf = (ledger: Ledger, table: string) =>
    one(
      sterna.db,
      sql<{ rows: number; sum: number }>`
        select count(*)::int as rows, coalesce(sum(count), 0)::int as sum from ${sql.table(table)} where project_id = ${ledger.id}
      `,
    )

  test('are what the events are, after anything, in any order', async () => {
    const name = fc.constantFrom('a', 'b', 'c')
    const email = fc.constantFrom(ADA, 'bob@example.com')
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant('track' as const), name, email, subscribed: fc.option(fc.boolean(), { nil: undefined }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ do: fc.constant('write' as const), name, count: fc.integer({ min: 1, max: 30 }), days: fc.nat(3) }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('add up' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('recount' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('delete name' as const), name }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('delete contact' as const), email }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 4 }), async (steps, atOnce) => {
        const ledger = await newLedger()
        const perform = async (each: (typeof steps)[number]) => {
          if (each.do === 'track')
            await ledger.track(each.name, { email: each.email, ...(each.subscribed === undefined ? {} : { subscribed: each.subscribed }) })
          else if (each.do === 'write')
            await ledger.write(times(each.count, (n) => ({ name: each.name, id: idAt(Date.now() - (each.days + (n % 2)) * DAY) })))
          else if (each.do === 'add up') await addUp()
          else if (each.do === 'recount') await recountEvents(sterna.db, ledger.id)
          else if (each.do === 'delete name') await ledger.remove(each.name)
          else {
            const { data } = (await ledger.call('GET', '/contacts')).body
            const contact = data.find((one: { email: string }) => one.email === each.email)
            if (contact) await ledger.call('DELETE', `/contacts/${contact.id}`)
          }
        }
        for (let at = 0; at < steps.length; at += atOnce) await Promise.all(steps.slice(at, at + atOnce).map(perform))
        await ledger.settled()
        await ledger.expectTrueCounts()
        await addUp()
        expect((await sumOf(ledger, 'event_count_deltas')).rows).toBe(0)
        await ledger.expectTrueCounts()
        const byDay = await many(
          sterna.db,
          sql`select name, id_day(id)::text as day, count(*)::int as count from events where project_id = ${ledger.id} group by 1, 2 order by 1, 2`,
        )
        const counted = await many(
          sterna.db,
          sql`select name, day::text as day, count::int as count from event_counts where project_id = ${ledger.id} and count <> 0 order by 1, 2`,
        )
        expect(counted).toEqual(byDay)
      }),
      { numRuns: 12 },
    )
  })

  test('that are added up leave nothing behind, and hide what came to nothing', async () => {
    const ledger = await newLedger()
    await ledger.write([{ name: 'kept' }, { name: 'kept' }, { name: 'gone' }])
    await addUp()
    expect([await sumOf(ledger, 'event_counts'), await sumOf(ledger, 'event_count_deltas')]).toEqual([
      { rows: 2, sum: 3 },
      { rows: 0, sum: 0 },
    ])
    await ledger.remove('gone')
    expect(await ledger.names()).toEqual(['kept'])
    await addUp()
    expect(await sumOf(ledger, 'event_counts')).toEqual({ rows: 1, sum: 2 })
  })

  test('that are wrong are put right by a recount, those of others are not touched', async () => {
    const [ledger, other] = [await newLedger(), await newLedger()]
    for (const each of [ledger, other]) await each.write([{ name: 'a' }, { name: 'a' }, { name: 'b' }])
    await addUp()
    await ledger.write([{ name: 'b' }])
    const { day } = await one(sterna.db, sql<{ day: string }>`select day::text from event_counts where project_id = ${ledger.id} limit 1`)
    await sql`
      update event_counts set count = count + 7 where name = 'a' and project_id in (${ledger.id}, ${other.id});
    `.execute(sterna.db)
    await sql`insert into event_counts (project_id, name, day, count) values (${ledger.id}, 'never', ${day}::date, 9)`.execute(sterna.db)
    await recountEvents(sterna.db, ledger.id)
    await ledger.expectTrueCounts()
    expect(await other.stats()).toEqual([
      { name: 'a', count: 9 },
      { name: 'b', count: 1 },
    ])
  })

  test('being added up, recounted and written by many at once stay right', async () => {
    const ledger = await newLedger()
    await Promise.all([
      ...times(40, (n) => ledger.track(`e${n % 3}`, { email: `c${n % 5}@example.com` })),
      ...times(6, addUp),
      ...times(3, () => recountEvents(sterna.db, ledger.id)),
    ])
    await ledger.expectTrueCounts()
  })
})

describe('a reset', () => {
  const everywhere = async (projectId: string) => {
    const tables = await many(
      sterna.db,
      sql<{ name: string }>`
        select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'project_id'
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1
      `,
    )
    const counts = await Promise.all(
      tables.map(async ({ name }) => {
        const { n } = await one(
          sterna.db,
          sql<{ n: number }>`select count(*)::int as n from ${sql.table(name)} where project_id = ${projectId}`,
        )
        return [name, n] as const
      }),
    )
    return Object.fromEntries(counts.filter(([, n]) => n))
  }
  async function furnish(ledger: Ledger) {
    await transact(sterna.db, (tx) => listenTo(tx, { projectId: ledger.id, listener: 'test' }, ['event:*', 'contact']))
    await ledger.write(times(1_500, (n) => ({ name: `e${n % 3}` })))
    await ledger.track('e', { data: { a: 1 } })
    await transact(sterna.db, (tx) => addUpDeltas(tx))
    await ledger.track('e', { subscribed: false })
    await sql`insert into idempotency_keys (project_id, key, request, status_code) values (${ledger.id}, 'k', 'POST /v1/track', 200)`.execute(
      sterna.db,
    )
    expect(Object.keys(await everywhere(ledger.id))).toEqual(
      expect.arrayContaining([
        'events',
        'event_counts',
        'event_count_deltas',
        'reactions',
        'listeners',
        'idempotency_keys',
        'contacts',
        'consents',
      ]),
    )
  }

  test('removes events, counts, reactions and keys of the project, and of no other', async () => {
    const [ledger, other] = [await newLedger(), await newLedger()]
    await furnish(ledger)
    await furnish(other)
    const before = await everywhere(other.id)
    expect((await ledger.owner.call('POST', `/users/@me/projects/${ledger.id}/reset`)).status).toBe(200)
    expect(Object.keys(await everywhere(ledger.id)).sort()).toEqual(['listeners', 'memberships'])
    expect(await ledger.list()).toMatchObject({ data: [], total: 0 })
    expect(await ledger.names()).toEqual([])
    await ledger.track('again')
    await ledger.expectTrueCounts()
    expect(await everywhere(other.id)).toEqual(before)
    await other.expectTrueCounts()
  })

  test('of a deleted project leaves nothing at all', async () => {
    const ledger = await newLedger()
    await furnish(ledger)
    await ledger.owner.call('DELETE', `/users/@me/projects/${ledger.id}`)
    await expect.poll(() => everywhere(ledger.id), { timeout: 10_000, interval: 20 }).toEqual({})
  })

  test('leaves true counts when someone tracks in the middle of it', async () => {
    const ledger = await newLedger()
    await ledger.write(times(5, () => ({ name: 'old' })))
    await transact(sterna.db, (tx) => addUpDeltas(tx))
    await transact(sterna.db, (tx) => removeEvents(tx, { projectId: ledger.id, which: sql`true`, limit: 10 }))
    await sql`
      create function wait_a_while() returns trigger language plpgsql as $$ begin perform pg_sleep(0.3); return null; end $$;
      create trigger wait_a_while after delete on event_count_deltas for each statement execute function wait_a_while()
    `.execute(sterna.db)
    try {
      const wiping = transact(sterna.db, (tx) => wipeEventCounts(tx, { projectId: ledger.id, before: 'infinity', limit: 1 }))
      await expect
        .poll(() => many(sterna.db, sql`select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`), {
          interval: 5,
        })
        .not.toEqual([])
      await ledger.track('new')
      await wiping
    } finally {
      await sql`drop trigger wait_a_while on event_count_deltas; drop function wait_a_while`.execute(sterna.db)
    }
    await ledger.expectTrueCounts()
  })
})

describe('listeners', () => {
  const listen = (ledger: Ledger, topics: Topic[], listener = 'test') =>
    transact(sterna.db, (tx) => listenTo(tx, { projectId: ledger.id, listener }, topics))
  const reactions = (ledger: Ledger) =>
    many(
      sterna.db,
      sql<{ contactId: string | null; eventId: string | null; name: string | null }>`
        select contact_id as "contactId", event_id as "eventId", event_name as name from reactions where project_id = ${ledger.id}
        order by event_id nulls last
      `,
    )
  const told = async (ledger: Ledger) => (await reactions(ledger)).map(({ name }) => name ?? 'contact').sort()

  /** Everything that may be listened to, once. */
  async function live(ledger: Ledger) {
    const { contact } = await ledger.track('bought')
    await ledger.track('viewed', { subscribed: false })
    await ledger.call('POST', '/events/track', { name: 'alone' })
    await ledger.call('PATCH', `/contacts/${contact}`, { subscribed: true })
    await ledger.call('POST', '/contacts', { email: 'bob@example.com' })
    return contact
  }

  test('that are not there get nothing', async () => {
    const [ledger, other] = [await newLedger(), await newLedger()]
    await listen(other, ['event:*', 'contact'])
    await live(ledger)
    expect(await reactions(ledger)).toEqual([])
    expect(await reactions(other)).toEqual([])
  })

  test.each<[Topic[], string[]]>([
    [['event:bought'], ['bought']],
    [['event:contact.subscribed'], ['contact.subscribed']],
    [['event:Bought', 'event:bou', 'event:'], []],
    [
      ['event:viewed', 'event:alone'],
      ['alone', 'viewed'],
    ],
    [['event:*'], ['alone', 'bought', 'contact.subscribed', 'contact.unsubscribed', 'viewed']],
    [
      ['event:*', 'event:bought'],
      ['alone', 'bought', 'contact.subscribed', 'contact.unsubscribed', 'viewed'],
    ],
    [['contact'], ['contact', 'contact', 'contact', 'contact']],
    [
      ['contact', 'event:bought'],
      ['bought', 'contact', 'contact', 'contact', 'contact'],
    ],
    [[], []],
  ])('to %j are told of %j', async (topics, expected) => {
    const ledger = await newLedger()
    await listen(ledger, topics)
    await live(ledger)
    expect(await told(ledger)).toEqual(expected)
  })

  test('are told which event, of whom', async () => {
    const ledger = await newLedger()
    await listen(ledger, ['event:bought', 'contact'])
    const { contact, event } = await ledger.track('bought')
    expect(await reactions(ledger)).toEqual([
      { contactId: contact, eventId: event, name: 'bought' },
      { contactId: contact, eventId: null, name: null },
    ])
  })

  test('of which there are several are told once', async () => {
    const ledger = await newLedger()
    await listen(ledger, ['event:e'], 'one')
    await listen(ledger, ['event:e', 'event:*'], 'two')
    await ledger.track('e')
    expect(await told(ledger)).toEqual(['e'])
  })

  test('change their mind, and leave, without a word to the others', async () => {
    const ledger = await newLedger()
    await listen(ledger, ['event:a', 'event:b'], 'one')
    await listen(ledger, ['event:b'], 'two')
    await listen(ledger, ['event:c'], 'one')
    for (const name of ['a', 'b', 'c']) await ledger.track(name)
    expect(await told(ledger)).toEqual(['b', 'c'])
    await listen(ledger, [], 'two')
    for (const name of ['a', 'b', 'c']) await ledger.track(name)
    expect(await told(ledger)).toEqual(['b', 'c', 'c'])
    await listen(ledger, ['event:c'], 'one')
    await listen(ledger, [], 'one')
    await ledger.track('c')
    expect(await told(ledger)).toEqual(['b', 'c', 'c'])
  })

  test('are told of what imports and bulk jobs do to contacts', async () => {
    const ledger = await newLedger()
    await listen(ledger, ['contact', 'event:contact.unsubscribed'])
    const form = { 'content-type': 'multipart/form-data; boundary=cut' }
    const file = `--cut\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail\na@example.com\nb@example.com\n\r\n--cut--\r\n`
    await sterna.call('POST', '/contacts/import', { key: ledger.sk, headers: form, body: file })
    await ledger.settled()
    expect(await told(ledger)).toEqual(['contact', 'contact'])
    const { data } = (await ledger.call('GET', '/contacts')).body
    await ledger.call('POST', '/contacts/bulk-unsubscribe', { contactIds: data.map(({ id }: { id: string }) => id) })
    await ledger.settled()
    expect(await told(ledger)).toEqual(['contact', 'contact', 'contact', 'contact', 'contact.unsubscribed', 'contact.unsubscribed'])
  })

  test('are told of nothing that did not happen', async () => {
    const ledger = await newLedger()
    const most = Object.fromEntries(times(4, (n) => [`k${n}`, 'x'.repeat(62_000)]))
    await ledger.call('POST', '/contacts', { email: ADA, data: most })
    await listen(ledger, ['event:*', 'contact'])
    const tooLarge = { more: 'x'.repeat(25_000) }
    const answers = await Promise.all([
      ...times(2, () => ledger.call('POST', '/events/track', { email: ADA, event: 'large', data: tooLarge })),
      ...times(3, (n) => ledger.call('POST', '/events/track', { email: `c${n}@example.com`, event: 'small' })),
    ])
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 200, 200, 200])
    expect(await told(ledger)).toEqual(['contact', 'contact', 'contact', 'small', 'small', 'small'])
    await expect(
      transact(sterna.db, async (tx) => {
        await recordEvents(tx, [{ projectId: ledger.id, name: 'undone' }])
        throw new Error('undone')
      }),
    ).rejects.toThrow('undone')
    expect(await told(ledger)).not.toContain('undone')
  })
})

describe('partitions', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>
  let db: Pool
  const errors = vi.fn()
  const log = { ...createLog('silent'), error: errors, info: () => {} } as unknown as Log

  beforeAll(async () => {
    database = await cloneDatabase()
    db = connect({ url: database.url, max: 10, log })
  })
  afterAll(async () => {
    await db.destroy()
    await database.drop()
  })
  beforeEach(() => errors.mockClear())

  const projectId = randomUUID()
  const record = (...moments: string[]) =>
    transact(db, (tx) =>
      recordEvents(
        tx,
        moments.map((moment) => ({ projectId, id: idAt(moment), name: moment })),
      ),
    )
  const make = (month: string) => createPartitions(db, log, new Date(`${month}-15T12:00:00Z`))
  const partitions = async () =>
    (
      await many(
        db,
        sql<{ name: string }>`select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass order by 1`,
      )
    ).map(({ name }) => name)
  const where = async (moment: string) =>
    (await many(db, sql<{ at: string }>`select tableoid::regclass::text as at from events where name = ${moment}`)).map(({ at }) => at)

  test('are made for this month and the two after it, once', async () => {
    await make('2027-11')
    expect(await partitions()).toEqual(['events_2027_11', 'events_2027_12', 'events_2028_01', 'events_default'])
    await make('2027-11')
    await make('2027-12')
    expect(await partitions()).toEqual(['events_2027_11', 'events_2027_12', 'events_2028_01', 'events_2028_02', 'events_default'])
    expect(errors).not.toHaveBeenCalled()
  })

  test('take exactly the events of their month', async () => {
    await record(
      '2027-10-31T23:59:59.999Z',
      '2027-11-01T00:00:00.000Z',
      '2027-11-30T23:59:59.999Z',
      '2027-12-01T00:00:00.000Z',
      '2028-02-29T23:59:59.999Z',
    )
    expect(await where('2027-10-31T23:59:59.999Z')).toEqual(['events_default'])
    expect(await where('2027-11-01T00:00:00.000Z')).toEqual(['events_2027_11'])
    expect(await where('2027-11-30T23:59:59.999Z')).toEqual(['events_2027_11'])
    expect(await where('2027-12-01T00:00:00.000Z')).toEqual(['events_2027_12'])
    expect(await where('2028-02-29T23:59:59.999Z')).toEqual(['events_2028_02'])
  })

  test('that are made late take what is theirs with them, and have all indexes', async () => {
    const moments = [
      '2029-04-30T23:59:59.999Z',
      '2029-05-01T00:00:00.000Z',
      '2029-05-31T23:59:59.999Z',
      '2029-06-30T10:00:00.000Z',
      '2029-08-01T00:00:00.000Z',
    ]
    await record(...moments)
    const row = () => many(db, sql`select * from events where project_id = ${projectId} and name = ${moments[1]}`)
    const before = await row()
    expect(new Set((await Promise.all(moments.map(where))).flat())).toEqual(new Set(['events_default']))
    await make('2029-05')
    expect((await Promise.all(moments.map(where))).flat()).toEqual([
      'events_default',
      'events_2029_05',
      'events_2029_05',
      'events_2029_06',
      'events_default',
    ])
    expect(await row()).toEqual(before)
    const indexes = (table: string) =>
      many(
        db,
        sql<{ definition: string }>`
          select regexp_replace(pg_get_indexdef(indexrelid), '^.*using', '', 'i') as definition from pg_index where indrelid = ${table}::regclass order by 1
        `,
      )
    expect(await indexes('events_2029_05')).toEqual(await indexes('events_default'))
    expect(await indexes('events_2029_05')).toHaveLength(3)
    expect(errors).not.toHaveBeenCalled()
  })

  test('wanted by several at once are made once, while others write', async () => {
    const moments = times(60, (n) => `2031-0${1 + (n % 3)}-1${n % 10}T00:00:00.${String(n).padStart(3, '0')}Z`)
    await Promise.all([...times(4, () => make('2031-01')), ...moments.map((moment) => record(moment))])
    expect(errors).not.toHaveBeenCalled()
    const places = (await Promise.all(moments.map(where))).flat()
    expect(places).toEqual(moments.map((moment) => `events_${moment.slice(0, 7).replace('-', '_')}`))
  })

  test('that cannot be made now keep nobody from starting, and are made the next time', async () => {
    await make('2033-02')
    await transact(db, async (tx) => {
      await sql`select 1 from events limit 1`.execute(tx) // like a long report
      const start = performance.now()
      await make('2033-03')
      expect(performance.now() - start).toBeLessThan(2_000)
      expect(errors).toHaveBeenCalledTimes(1)
      expect(await partitions()).not.toContain('events_2033_05')
    })
    await record('2033-05-02T00:00:00.000Z')
    await make('2033-03')
    expect(await where('2033-05-02T00:00:00.000Z')).toEqual(['events_2033_05'])
  })

  describe('with retention', () => {
    const names = async () => (await many(db, sql<{ name: string }>`select name from events order by name`)).map(({ name }) => name)
    const days = async (table: string) =>
      (await many(db, sql<{ day: string }>`select distinct day::text as day from ${sql.table(table)} order by 1`)).map(({ day }) => day)
    const drop = (months: number, now = '2025-04-15T12:00:00Z') => dropOldEvents(db, log, { months, now: new Date(now) })
    const OLD = ['2024-11-05T00:00:00.000Z', '2025-01-01T00:00:00.000Z', '2025-01-31T23:59:59.999Z']
    const KEPT = ['2025-02-01T00:00:00.000Z', '2025-03-20T00:00:00.000Z', '2025-06-10T00:00:00.000Z']

    test('0 keeps everything, 2 keeps two whole months and the running one', async () => {
      await sql`truncate events, event_counts, event_count_deltas`.execute(db)
      await make('2025-01')
      await record(...OLD, ...KEPT)
      await transact(db, (tx) => addUpDeltas(tx))
      await record('2025-01-15T00:00:00.000Z', '2025-03-21T00:00:00.000Z')
      const before = [await names(), await partitions(), await days('event_counts'), await days('event_count_deltas')]
      await drop(0)
      expect([await names(), await partitions(), await days('event_counts'), await days('event_count_deltas')]).toEqual(before)

      await drop(2)
      expect(await names()).toEqual([...KEPT, '2025-03-21T00:00:00.000Z'].sort())
      expect((await partitions()).filter((name) => name.startsWith('events_2025'))).toEqual(['events_2025_02', 'events_2025_03'])
      expect(await partitions()).toContain('events_default')
      expect(await days('event_counts')).toEqual(['2025-02-01', '2025-03-20', '2025-06-10'])
      expect(await days('event_count_deltas')).toEqual(['2025-03-21'])

      await drop(2)
      expect(await names()).toEqual([...KEPT, '2025-03-21T00:00:00.000Z'].sort())
      await drop(1, '2025-04-01T00:00:00Z')
      expect(await names()).toEqual(['2025-03-20T00:00:00.000Z', '2025-03-21T00:00:00.000Z', '2025-06-10T00:00:00.000Z'])
    })

    test('drops many that never had a partition', async () => {
      await sql`truncate events, event_counts, event_count_deltas`.execute(db)
      await transact(db, (tx) =>
        recordEvents(
          tx,
          times(5_100, (n) => ({ projectId, id: idAt(Date.UTC(2020, 0, 1) + n), name: 'stray' })),
        ),
      )
      await record('2025-06-11T00:00:00.000Z')
      await drop(12)
      expect(await names()).toEqual(['2025-06-11T00:00:00.000Z'])
    })
  })
})
