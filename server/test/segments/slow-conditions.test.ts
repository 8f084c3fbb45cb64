import { sql } from 'kysely'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { one, transact } from '../../src/db/index.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'
import { all, filter, newSegmentProject } from './segment-project.ts'

/** Milliseconds: less than a scan of 12,000 contacts takes on any machine. */
const limits = vi.hoisted(() => ({ long: 1, now: 1 }))
vi.mock('../../src/http/too-slow.ts', async (original) => ({
  ...(await original<object>()),
  get LONG_STATEMENT_MS() {
    return limits.long
  },
}))
vi.mock('../../src/segments/time-limits.ts', async (original) => ({
  ...(await original<object>()),
  get COUNT_NOW_MS() {
    return limits.now
  },
  get PREVIEW_SCAN_MS() {
    return limits.now
  },
}))

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
const CONTACTS = 12_000

/** Every fourth contact matches. */
const quarter = all(filter('data.n', 'equals', 1))
const nobody = all(filter('data.n', 'equals', -1))

let project: Awaited<ReturnType<typeof newSegmentProject>>
beforeAll(async () => {
  project = await newSegmentProject(sterna)
  await transact(sterna.db, async (tx) => {
    await sql`set local statement_timeout = 0`.execute(tx)
    await sql`
      insert into contacts (project_id, id, email, subscribed, data)
      select ${project.id}, gen_random_uuid(), 'c' || n || '@example.com', n % 8 < 4, jsonb_build_object('n', n % 4)
      from generate_series(1, ${CONTACTS}::int) as n
    `.execute(tx)
  })
  await sql`
    insert into contact_counts (project_id, total, subscribed) values (${project.id}, ${CONTACTS}, ${CONTACTS / 2})
  `.execute(sterna.db)
  await sql`analyze contacts`.execute(sterna.db)
})

/** Within 15 % of the truth: far more than the deviation of the sample. */
const isAbout = (expected: number) => ({
  asymmetricMatch: (actual: unknown) => typeof actual === 'number' && Math.abs(actual - expected) < expected * 0.15,
})

describe('a condition that takes too long over all contacts', () => {
  test('is refused with 503 and Retry-After where only an exact answer will do', async () => {
    limits.long = 10_000
    const { id } = await project.dynamic(nobody)
    limits.long = 1
    const requests: [string, string][] = [
      ['POST', `/segments/${id}/refresh`],
      ['GET', `/segments/${id}/contacts`],
      ['GET', `/segments/${id}/contacts?page=3`],
      ['GET', `/contacts?segmentId=${id}`],
    ]
    for (const [method, url] of requests) {
      const answer = await project.call(method, url)
      expect([url, ...outcome(answer), answer.headers['retry-after']]).toEqual([url, 503, 'SERVICE_UNAVAILABLE', '30'])
      expect(answer.body.error.message).toContain('too long')
    }
  })

  test('gets an estimate when a segment is created, and a job counts it exactly', async () => {
    limits.long = 10_000
    const segment = await project.dynamic(quarter)
    expect(segment).toMatchObject({ memberCount: isAbout(CONTACTS / 4), countEstimated: true })
    await eventually(async () => expect(await project.get(segment.id)).toMatchObject({ memberCount: CONTACTS / 4, countEstimated: false }))
  })

  test('keeps an estimate if the job cannot count it either, and is not tried again at once', async () => {
    limits.long = 1
    const { id } = await project.dynamic(quarter)
    await eventually(async () => {
      const row = await one(sterna.db, sql<{ ms: number }>`select count_ms as ms from segments where id = ${id}`)
      expect(row.ms).toBe(1)
    })
    expect(await project.get(id)).toMatchObject({ memberCount: isAbout(CONTACTS / 4), countEstimated: true })
  })

  test('is previewed from a sample', async () => {
    limits.long = 10_000
    const { status, body } = await project.call('POST', '/segments/preview', { condition: quarter })
    expect([status, body]).toMatchObject([
      200,
      { count: isAbout(CONTACTS / 4), estimated: true, mailable: isAbout(CONTACTS / 8), perFilter: [{ remaining: isAbout(CONTACTS / 4) }] },
    ])
    expect(body.sample).toHaveLength(5)
  })
})

test('a condition of more than 20 filters is previewed from a sample', async () => {
  limits.now = 10_000
  limits.long = 10_000
  const preview = async (filters: number) => {
    const condition = all(...times(filters, () => filter('data.n', 'equals', 1)))
    return (await project.call('POST', '/segments/preview', { condition })).body
  }
  expect(await preview(20)).toMatchObject({ count: CONTACTS / 4, mailable: CONTACTS / 8, estimated: false })
  const wide = await preview(21)
  expect(wide).toMatchObject({ count: isAbout(CONTACTS / 4), estimated: true })
  expect(wide.perFilter).toHaveLength(21)
})

test('a large project shows the stored count as the total of a list', async () => {
  limits.now = 10_000
  limits.long = 10_000
  const { id } = await project.dynamic(quarter)
  await sql`insert into contact_counts (project_id, total, subscribed) values (${project.id}, 10000, 0)`.execute(sterna.db)
  await sql`update segments set member_count = 7000 where id = ${id}`.execute(sterna.db)
  expect(await project.page(id, '?pageSize=10')).toMatchObject({ total: 7_000, totalPages: 700, hasMore: true })
})
