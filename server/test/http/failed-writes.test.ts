import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { all, filter, isPro, newSegmentProject } from '../segments/segment-project.ts'
import { useApp } from '../support/app.ts'
import { withFailingStatement } from '../support/faults/failing-statements.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, withWorker: false })

/** More statements than such a request has. */
const MAX_STATEMENTS = 60

let project: Awaited<ReturnType<typeof newSegmentProject>>
let [segmentId, workflowId] = ['', '']
beforeAll(async () => {
  project = await newSegmentProject(sterna)
  segmentId = (await project.dynamic()).id
  workflowId = (await project.call('POST', '/workflows', { name: 'First', eventName: 'signup' })).body.id
})

/** What these requests store. */
const stored = async () =>
  (
    await one(
      sterna.db,
      sql<{ rows: string }>`
        select (select json_agg((id, name, condition, updated_at) order by id) from segments)::text
          || (select json_agg((id, name, updated_at) order by id) from workflows)::text as rows
      `,
    )
  ).rows

const named = (n: number) => `Name ${n}`

test.each<[string, string, () => string, (n: number) => object | undefined]>([
  ['a segment is created', 'POST', () => '/segments', (n) => ({ name: named(n), condition: all(isPro) })],
  ['a segment is changed', 'PATCH', () => `/segments/${segmentId}`, (n) => ({ condition: all(filter('data.n', 'equals', n)) })],
  ['a segment is copied', 'POST', () => `/segments/${segmentId}/duplicate`, () => undefined],
  ['a workflow is created', 'POST', () => '/workflows', (n) => ({ name: named(n), eventName: 'signup' })],
  ['a workflow is changed', 'PATCH', () => `/workflows/${workflowId}`, (n) => ({ name: named(n) })],
  ['a workflow is copied', 'POST', () => `/workflows/${workflowId}/duplicate`, () => undefined],
])('a request that answers 503 has stored nothing: %s', async (_, method, url, body) => {
  const statuses = new Set<number>()
  for (let [n, failed] = [1, true]; failed && n < MAX_STATEMENTS; n++) {
    const before = await stored()
    const request = () => project.call(method, url(), body(n))
    const { result, failed: hasFailed } = await withFailingStatement(n, 'given up', request)
    failed = hasFailed
    statuses.add(result.status)
    expect([n, result.status, (await stored()) !== before]).toEqual([n, result.status, result.status < 300])
  }
  expect([...statuses].sort()).toEqual([method === 'PATCH' ? 200 : 201, 503])
})
