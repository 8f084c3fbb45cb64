import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Pool, transact } from '../../src/db/index.ts'
import { lockSegments } from '../../src/segments/definition/limits.ts'
import { type Answer, startApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { times } from '../support/times.ts'
import { all, filter, isPro, newSegmentProject } from './segment-project.ts'

/** A lock that is waited for longer than this fails, where no other limit is set. */
const LOCK_TIMEOUT_MS = 200
const AT_ONCE = 35

let project: Awaited<ReturnType<typeof newSegmentProject>>
let db: Pool
let close = async () => {}
beforeAll(async () => {
  const database = await cloneDatabase()
  const url = database.url.replace(/lock_timeout=\d+/, `lock_timeout=${LOCK_TIMEOUT_MS}`)
  const { sterna, close: closeApp } = await startApp(url, { env: { RATE_LIMIT_PER_MINUTE: '0' } })
  project = await newSegmentProject({ ...sterna, url })
  db = sterna.db
  await project.add('ada', { plan: 'pro' })
  close = async () => {
    await closeApp()
    await database.drop()
  }
})
afterAll(() => close())

/** Requests that begin while another one holds the lock of the project's segments, longer than a lock is waited for. */
async function whileLocked(requests: () => Promise<Answer>[]): Promise<Answer[]> {
  let answers: Promise<Answer[]> = Promise.resolve([])
  await transact(db, async (tx) => {
    await lockSegments(tx, project.id)
    answers = Promise.all(requests())
    await sleep(5 * LOCK_TIMEOUT_MS)
  })
  return answers
}

describe(`${AT_ONCE} requests at once wait for each other:`, () => {
  test('creating segments', async () => {
    const answers = await whileLocked(() =>
      times(AT_ONCE, (n) => project.call('POST', '/segments', { name: `New ${n}`, condition: all(isPro) })),
    )
    expect(answers.map(({ status }) => status)).toEqual(times(AT_ONCE, () => 201))
  })

  test('changing segments', async () => {
    const { id } = await project.dynamic()
    const condition = all(filter('data.plan', 'contains', 'P'))
    const answers = await whileLocked(() => times(AT_ONCE, (n) => project.patch(id, { name: `Name ${n}`, condition })))
    expect(answers.map(({ status }) => status)).toEqual(times(AT_ONCE, () => 200))
    expect(await project.get(id)).toMatchObject({ condition })
  })
})

describe('a segment whose count fails', () => {
  /** Meanwhile every statement that reads contacts fails as if PostgreSQL had no resources left. */
  async function whileFailing(work: () => Promise<void>) {
    await transact(db, async (tx) => {
      await sql`
        create function fail_now() returns boolean volatile language plpgsql as $$ begin
          raise exception 'out of memory' using errcode = '53200';
        end $$
      `.execute(tx)
      await sql`alter table contacts rename to stored_contacts`.execute(tx)
      await sql`create view contacts as select * from stored_contacts where fail_now()`.execute(tx)
    })
    try {
      await work()
    } finally {
      await transact(db, async (tx) => {
        await sql`drop view contacts`.execute(tx)
        await sql`alter table stored_contacts rename to contacts`.execute(tx)
        await sql`drop function fail_now()`.execute(tx)
      })
    }
  }

  test('is created, changed and copied all the same, and counted later', async () => {
    const ids: string[] = []
    await whileFailing(async () => {
      const created = await project.call('POST', '/segments', { name: 'Uncounted', condition: all(isPro) })
      const copied = await project.call('POST', `/segments/${created.body.id}/duplicate`)
      const changed = await project.patch(created.body.id, { condition: all(filter('data.plan', 'notEquals', 'none')) })
      const answers = [created, copied, changed]
      expect(answers.map(({ status, body }) => [status, body.memberCount, body.countEstimated])).toEqual([
        [201, 0, true],
        [201, 0, true],
        [200, 0, true],
      ])
      ids.push(created.body.id, copied.body.id)
    })
    await sql`update segments set counted_at = null where id = any(${ids}::uuid[])`.execute(db)
    await eventually(async () => {
      const counts = (await Promise.all(ids.map(project.get))).map(({ memberCount, countedAt }) => [memberCount, countedAt !== null])
      expect(counts).toEqual([
        [1, true],
        [1, true],
      ])
    })
  })
})
