import { type RawBuilder, sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { one, transact } from '../../src/db/index.ts'
import { withStatementTimeout } from '../../src/db/statement-timeout.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'
import { all, filter, newSegmentProject } from './segment-project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, isPatient: false })

const CONTACTS = 40
/** The number of contacts as counted. The sample of so many includes all that exist, and stands for more. */
const COUNTED = 10_400

/** Every fourth contact matches, half of these are subscribed. */
const quarter = all(filter('data.n', 'equals', 1))
const ESTIMATE = COUNTED / 4

let project: Awaited<ReturnType<typeof newSegmentProject>>
beforeAll(async () => {
  project = await newSegmentProject(sterna)
  await sql`
    insert into contacts (project_id, id, email, subscribed, data)
    select ${project.id}, id, 'c' || n || '@example.com', n % 8 < 4, jsonb_build_object('n', n % 4)
    from (
      -- Ids that are in every sample of half of the contacts or more.
      select id, row_number() over () as n from (select gen_random_uuid() as id from generate_series(1, 1000)) as made
      where (uuid_hash(id) & 2147483647) < 1000000000
    ) as chosen
    where n <= ${CONTACTS}
  `.execute(sterna.db)
  await sql`insert into contact_count_deltas (project_id, total, subscribed) values (${project.id}, ${COUNTED}, 0)`.execute(sterna.db)
})

const ALWAYS = sql`true`
/** Statements that read neither the ids of a sample nor the contacts of one. */
const SCANS = sql`current_query() !~ 'uuid_hash|"?id"? = any'`

/** Meanwhile statements that read contacts fail as if they had exceeded their time. */
async function whileTimingOut(which: RawBuilder<unknown>, work: () => Promise<void>) {
  await transact(sterna.db, async (tx) => {
    await sql`
      create function time_out() returns boolean volatile language plpgsql as $$ begin
        if ${which} then raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end if;
        return true;
      end $$
    `.execute(tx)
    await sql`alter table contacts rename to stored_contacts`.execute(tx)
    await sql`create view contacts as select * from stored_contacts where time_out()`.execute(tx)
  })
  try {
    await work()
  } finally {
    await transact(sterna.db, async (tx) => {
      await sql`drop view contacts`.execute(tx)
      await sql`alter table stored_contacts rename to contacts`.execute(tx)
      await sql`drop function time_out()`.execute(tx)
    })
  }
}

describe('a condition that takes too long over all contacts', () => {
  test('is refused with 503 and Retry-After where only an exact answer will do', async () => {
    const { id } = await project.dynamic(quarter)
    const requests: [string, string][] = [
      ['POST', `/segments/${id}/refresh`],
      ['GET', `/segments/${id}/contacts`],
      ['GET', `/segments/${id}/contacts?page=3`],
      ['GET', `/contacts?segmentId=${id}`],
    ]
    await whileTimingOut(ALWAYS, async () => {
      for (const [method, url] of requests) {
        const answer = await project.call(method, url)
        expect([url, ...outcome(answer), answer.headers['retry-after']]).toEqual([url, 503, 'SERVICE_UNAVAILABLE', '30'])
        expect(answer.body.error.message).toContain('too long')
      }
    })
  })

  test('gets an estimate when a segment is created, and a job counts it exactly', async () => {
    let id = ''
    await whileTimingOut(SCANS, async () => {
      const segment = await project.dynamic(quarter)
      expect(segment).toMatchObject({ memberCount: ESTIMATE, countEstimated: true })
      id = segment.id
      // The job could not count it either.
      await eventually(async () => {
        const { ms } = await one(sterna.db, sql<{ ms: number }>`select count_ms as ms from segments where id = ${id}`)
        expect(ms).toBe(10_000)
      })
      expect(await project.get(id)).toMatchObject({ memberCount: ESTIMATE, countEstimated: true })
    })
    await sql`update segments set counted_at = counted_at - interval '1 hour' where id = ${id}`.execute(sterna.db)
    await eventually(async () => expect(await project.get(id)).toMatchObject({ memberCount: CONTACTS / 4, countEstimated: false }))
  })

  test('does not keep a segment from being created, even if it cannot be estimated', async () => {
    await whileTimingOut(ALWAYS, async () => {
      expect(await project.dynamic(quarter)).toMatchObject({ memberCount: 0, countEstimated: true })
    })
  })

  test('is previewed from a sample', async () => {
    await whileTimingOut(SCANS, async () => {
      const { status, body } = await project.call('POST', '/segments/preview', { condition: quarter })
      expect([status, body]).toMatchObject([
        200,
        { count: ESTIMATE, estimated: true, mailable: ESTIMATE / 2, perFilter: [{ remaining: ESTIMATE }] },
      ])
      expect(body.sample).toHaveLength(5)
    })
  })
})

test('a condition of more than 20 filters is previewed from a sample', async () => {
  const preview = async (filters: number) => {
    const condition = all(...times(filters, () => filter('data.n', 'equals', 1)))
    return (await project.call('POST', '/segments/preview', { condition })).body
  }
  expect(await preview(20)).toMatchObject({ count: CONTACTS / 4, mailable: CONTACTS / 8, estimated: false })
  const wide = await preview(21)
  expect(wide).toMatchObject({ count: ESTIMATE, mailable: ESTIMATE / 2, estimated: true })
  expect(wide.perFilter).toHaveLength(21)
})

test('a large project shows the stored count as the total of a list', async () => {
  const { id } = await project.dynamic(quarter)
  await sql`insert into contact_count_deltas (project_id, total, subscribed) values (${project.id}, 10000, 0)`.execute(sterna.db)
  await sql`update segments set member_count = 7000 where id = ${id}`.execute(sterna.db)
  expect(await project.page(id, '?pageSize=5')).toMatchObject({ total: 7_000, totalPages: 1_400, hasMore: true })
})

test('a statement ends at its own time limit, and later ones have the usual limit', async () => {
  const slept = (seconds: number) =>
    withStatementTimeout(
      sterna.db,
      50,
      (tx) => one(tx, sql`select pg_sleep(${seconds})`),
      () => 'too late',
    )
  expect([await slept(5), await slept(0)]).toEqual(['too late', { pg_sleep: '' }])
  const limits = await Promise.all(times(10, () => one(sterna.db, sql<{ ms: string }>`select current_setting('statement_timeout') as ms`)))
  expect(new Set(limits.map(({ ms }) => ms))).toEqual(new Set(['5s']))
})
