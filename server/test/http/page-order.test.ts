import { RawNode, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Pool } from '../../src/db/index.ts'
import { PAGE_BYTES, readPage } from '../../src/http/core/paging.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { cloneDatabase } from '../support/database.ts'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let db: Pool
beforeAll(async () => {
  database = await cloneDatabase()
  db = connect({ url: database.url, max: 1, log: createLog('silent') })
})
afterAll(async () => {
  await db.destroy()
  await database.drop()
})

/** The query plan instead of the rows. */
const explaining = () =>
  db.withPlugin({
    transformQuery: ({ node }) => {
      const { sqlFragments, parameters } = node as RawNode
      return RawNode.create([`explain (costs off) ${sqlFragments[0]}`, ...sqlFragments.slice(1)], parameters)
    },
    transformResult: async ({ result }) => result,
  })

test('a page is measured and returned in the order of its query, by an explicit sort', async () => {
  const query = sql<{ n: number }>`select n from generate_series(1, 10) n order by n % 3, n desc limit 6`
  expect(await readPage(db, query, 5)).toEqual({ rows: [9, 6, 3, 10, 7].map((n) => ({ n })), hasMore: true })
  const { rows } = await readPage(explaining(), query as never, 1_000)
  const plan = rows.map((line) => Object.values(line)[0]).join('\n')
  expect(plan.match(/Sort Key: .*/g)).toContain('Sort Key: page."rowNumber"')
})

test('rows beyond the byte limit of a page are the last ones of its order', async () => {
  const size = Math.ceil(PAGE_BYTES / 2)
  const query = sql<{ n: number }>`select n, repeat('x', ${size}::int) as text from generate_series(1, 5) n order by n desc limit 5`
  const { rows, hasMore } = await readPage(db, query, 4)
  expect([rows.map(({ n }) => n), hasMore]).toEqual([[5, 4], true])
})
