import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { connect, many, type Pool, transact } from '../../src/db/index.ts'
import { eventLedger } from '../../src/events/counts.ts'
import { listenTo } from '../../src/events/listen.ts'
import { createPartitions, dropOldEvents } from '../../src/events/partitions.ts'
import { recordEvents } from '../../src/events/record.ts'
import { dropTable } from '../../src/ledger/partitions.ts'
import { createLog, type Log } from '../../src/lib/process/log.ts'
import { cloneDatabase } from '../support/database.ts'
import { times } from '../support/times.ts'
import { idAt } from './event-client.ts'

describe('partitions of events', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>
  let db: Pool
  const errors = vi.fn()
  const log = { ...createLog('silent'), error: errors, info: () => {} } as unknown as Log

  beforeAll(async () => {
    database = await cloneDatabase()
    db = connect({ url: database.url, max: 10, log })
    for (const name of await partitions()) if (name !== 'events_default') await transact(db, (tx) => dropTable(tx, name))
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

  test('are created for this month and the next two, once', async () => {
    await make('2027-11')
    expect(await partitions()).toEqual(['events_2027_11', 'events_2027_12', 'events_2028_01', 'events_default'])
    await make('2027-11')
    await make('2027-12')
    expect(await partitions()).toEqual(['events_2027_11', 'events_2027_12', 'events_2028_01', 'events_2028_02', 'events_default'])
    expect(errors).not.toHaveBeenCalled()
  })

  test('hold exactly the events of their month', async () => {
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

  test('that are created late take over their events and have all indexes', async () => {
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
    expect(await indexes('events_2029_05')).toHaveLength(5)
    expect(errors).not.toHaveBeenCalled()
  })

  test('are created once by concurrent callers, during writes', async () => {
    const moments = times(60, (n) => `2031-0${1 + (n % 3)}-1${n % 10}T00:00:00.${String(n).padStart(3, '0')}Z`)
    await Promise.all([...times(4, () => make('2031-01')), ...moments.map((moment) => record(moment))])
    expect(errors).not.toHaveBeenCalled()
    const places = (await Promise.all(moments.map(where))).flat()
    expect(places).toEqual(moments.map((moment) => `events_${moment.slice(0, 7).replace('-', '_')}`))
  })

  test('that cannot be created now do not block the start and are created the next time', async () => {
    await make('2033-02')
    await transact(db, async (tx) => {
      await sql`select 1 from events limit 1`.execute(tx) // like a long report
      const start = performance.now()
      await make('2033-03')
      // It would wait for this transaction without end.
      expect(performance.now() - start).toBeLessThan(20_000)
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

    test('of 0 keep all events, and of 2 keep two whole months and the current one', async () => {
      await sql`truncate events, event_counts, event_count_deltas`.execute(db)
      await make('2025-01')
      await record(...OLD, ...KEPT)
      await eventLedger.fold(db)
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

    test('delete events that never had a partition', async () => {
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

    test('react for those who listen to the deletion of events that were there', async () => {
      await sql`truncate events, event_counts, event_count_deltas`.execute(db)
      const [listening, without, elsewhere] = [randomUUID(), randomUUID(), randomUUID()]
      const write = (project: string, moment: string, name: string) =>
        transact(db, (tx) => recordEvents(tx, [{ projectId: project, id: idAt(moment), name }]))
      await make('2026-01')
      await write(listening, '2026-01-10T00:00:00.000Z', 'bought')
      await write(listening, '2026-01-11T00:00:00.000Z', 'viewed')
      await write(listening, '2026-02-10T00:00:00.000Z', 'kept')
      await write(listening, '2025-01-10T00:00:00.000Z', 'stray')
      await write(elsewhere, '2026-01-10T00:00:00.000Z', 'bought')
      for (const project of [listening, without])
        await transact(db, (tx) =>
          listenTo(tx, { projectId: project, listener: 'test:1' }, [
            'events-deleted:bought',
            'events-deleted:kept',
            'events-deleted:stray',
            'events-deleted:never',
            'contact',
          ]),
        )
      await drop(1, '2026-03-15T00:00:00Z')
      const reactions = await many(
        db,
        sql`select project_id as "projectId", contact_id as "contactId", topics from reactions order by topics`,
      )
      expect(reactions).toEqual([
        { projectId: listening, contactId: null, topics: ['events-deleted:bought'] },
        { projectId: listening, contactId: null, topics: ['events-deleted:stray'] },
      ])
      await drop(1, '2026-03-15T00:00:00Z')
      expect(await many(db, sql`select 1 from reactions`)).toHaveLength(2)
    })
  })
})
