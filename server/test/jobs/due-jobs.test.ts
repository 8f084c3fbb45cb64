import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, many, type Pool, transact } from '../../src/db/index.ts'
import { enqueue } from '../../src/jobs/enqueue.ts'
import { announceDueJobs } from '../../src/jobs/liveness.ts'
import { newId } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { cloneDatabase } from '../support/database.ts'

let database: Awaited<ReturnType<typeof cloneDatabase>>
let db: Pool
let listener: pg.Client
const announced: string[] = []

beforeAll(async () => {
  database = await cloneDatabase()
  db = connect({ url: database.url, max: 2, log: createLog('silent') })
  listener = new pg.Client({ connectionString: database.url })
  listener.on('notification', ({ payload }) => announced.push(payload ?? ''))
  await listener.connect()
  await listener.query('listen "jobs:insert"')
})
afterAll(async () => {
  await listener.end()
  await db.destroy()
  await database.drop()
})

/** Notifications arrive before the answer to a later query of the same session. */
async function announcements() {
  await listener.query('select 1')
  return announced.splice(0).length
}

test('a job that comes due is announced to all workers, and only then', async () => {
  const inAnHour = new Date(Date.now() + 3_600_000)
  await transact(db, (tx) => enqueue(tx, 'uploads.remove', { projectId: 'p', keys: [] }, { runAt: inAnHour }))
  const [job] = await many(db, sql<{ runAt: Date }>`select run_at as "runAt" from graphile_worker._private_jobs`)
  expect(job).toEqual({ runAt: inAnHour })
  await announcements()
  const sweep = () => transact(db, (tx) => announceDueJobs(tx, 2_000))
  const becomes = (due: string) =>
    sql`
      update graphile_worker._private_jobs set run_at = now() + ${due}::interval, created_at = now() - interval '2 hours'
    `.execute(db)
  await sweep()
  expect(await announcements()).toBe(0)
  await becomes('-0.1 s')
  await sweep()
  expect(await announcements()).toBe(1)
  // Workers have been told, and poll besides.
  await becomes('-5 s')
  await sweep()
  expect(await announcements()).toBe(0)
})

test('a job that waits for another one of its queue is announced when that one has ended, and not before', async () => {
  const projectId = newId()
  await transact(db, (tx) => enqueue(tx, 'contacts.import', { projectId, jobId: newId() }))
  const sweep = () => transact(db, (tx) => announceDueJobs(tx, 0))
  const locked = (at: 'now()' | 'null') => sql`update graphile_worker._private_job_queues set locked_at = ${sql.raw(at)}`.execute(db)
  await locked('now()')
  await announcements()
  await sweep()
  expect(await announcements()).toBe(0)
  await locked('null')
  await sweep()
  expect(await announcements()).toBe(1)
  await sql`delete from graphile_worker._private_jobs where job_queue_id is not null`.execute(db)
  await sweep()
  expect(await announcements()).toBe(0)
})
