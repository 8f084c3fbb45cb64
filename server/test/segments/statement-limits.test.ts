import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { toExpression } from '../../src/conditions/expression.ts'
import { readCondition } from '../../src/conditions/schema.ts'
import { expressionSql, probeSql, scanSql } from '../../src/conditions/sql.ts'
import { connect, many, one } from '../../src/db/index.ts'
import { withStatementTimeout } from '../../src/db/statement-timeout.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { useApp } from '../support/app.ts'
import { times } from '../support/times.ts'
import { filter, newSegmentProject } from './segment-project.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' }, isPatient: false })
const LENGTH = 65_000

let project: Awaited<ReturnType<typeof newSegmentProject>>
beforeAll(async () => {
  project = await newSegmentProject(sterna)
  await project.add('ada', { text: 'é'.repeat(LENGTH), plain: 'a'.repeat(LENGTH) })
})

const anyOf = (filters: object[]) => ({ logic: 'OR', groups: filters.map((each) => ({ filters: [each] })) })

/** Statements on contacts that PostgreSQL works on. */
const RUNNING = sql<{ count: number }>`
  select count(*)::int as count from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and state = 'active' and query ~ 'from contacts|pg_sleep'
`
const countRunning = async () => (await one(sterna.db, RUNNING)).count

describe('conditions on a text of 65,000 characters', () => {
  /** A text that nearly occurs everywhere takes longest. */
  const slow = times(20, (n) => filter('data.plain', 'contains', `${'a'.repeat(500)}${n}${'a'.repeat(500)}`))

  test.each([
    ['of a page', (tree: object) => ({ joins: sql``, matches: expressionSql(compile(tree), contextOf()) })],
    ['of a scan', (tree: object) => scanSql(compile(tree), contextOf())],
    ['of a sample', (tree: object) => probeSql(compile(tree), contextOf())],
  ])('end soon after the limit of a statement, though it reads one contact: %s', async (_, toSql) => {
    const count = (filters: object[]) => {
      const { joins, matches } = toSql(anyOf(filters))
      return sql<{
        count: number
      }>`select count(*)::int as count from contacts ${joins} where contacts.project_id = ${project.id} and ${matches}`
    }
    const all = await timeOf(count(slow), 60_000)
    const cut = await timeOf(count(slow), all.ms / 10)
    expect([all.isCut, cut.isCut]).toEqual([false, true])
    expect(cut.ms).toBeLessThan(all.ms / 2)
  })

  const compile = (tree: object) => toExpression(readCondition(tree, 'condition'), () => undefined)
  const contextOf = () => ({ projectId: project.id, now: new Date(), deletedFields: new Set<string>() })

  /** Of one contact, which PostgreSQL evaluates as a whole. */
  async function timeOf(query: ReturnType<typeof sql<{ count: number }>>, limitMs: number) {
    const start = performance.now()
    const isCut = await withStatementTimeout(
      sterna.db,
      limitMs,
      async (tx) => (await many(tx, query)).length === 0,
      () => true,
    )
    return { isCut, ms: performance.now() - start }
  }

  test('are previewed, counted and listed, and no statement goes on after the answer', async () => {
    // 100 filters of 128 letters, none of which is in the text.
    const letters = times(256, (n) => String.fromCodePoint(0x410 + (n % 32), 0x100 + n)).join('')
    const filters = times(100, (n) => filter('data.text', 'contains', `${n}${letters}`.slice(0, 256)))
    const condition = anyOf(filters)
    const answers = await Promise.all(times(3, () => project.call('POST', '/segments/preview', { condition })))
    expect(answers.map(({ status, body }) => [status, body.count])).toEqual(times(3, () => [200, 0]))
    const { id } = await project.dynamic(condition)
    expect(await project.members(id)).toEqual([])
    expect(await countRunning()).toBe(0)
  })
})

test('a statement ends when the node that sent it gives up', async () => {
  const db = connect({ url: `${sterna.url}&query_timeout=200&statement_timeout=0`, max: 1, log: createLog('silent') })
  try {
    const failure = await many(db, sql`select pg_sleep(300)`).catch((err) => err)
    expect(failure).toMatchObject({ message: 'Query read timeout' })
    await expect.poll(countRunning, { timeout: 20_000 }).toBe(0)
  } finally {
    await db.destroy()
  }
})
