import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { enqueue } from '../../src/jobs/enqueue.ts'
import { newId } from '../../src/lib/id.ts'
import { useApp } from '../support/app.ts'

const sterna = useApp()

class RolledBack extends Error {}

test('imports of a project are in one queue, which runs one job at a time; other jobs are in none', async () => {
  const projectId = newId()
  let queues: unknown
  await transact(sterna.db, async (tx) => {
    await enqueue(tx, 'contacts.import', { projectId, jobId: newId() })
    await enqueue(tx, 'contacts.import', { projectId, jobId: newId() })
    await enqueue(tx, 'contacts.bulk', { projectId, jobId: newId() })
    await enqueue(tx, 'domains.check-due', {})
    await enqueue(tx, 'contacts.import', { projectId: newId(), jobId: newId() })
    queues = await many(
      tx,
      sql`select task_identifier as name, queue_name as queue from graphile_worker.jobs where created_at = now() order by id`,
    )
    throw new RolledBack()
  }).catch((err) => expect(err).toBeInstanceOf(RolledBack))
  const mine = expect.stringMatching(/^imports \d+$/)
  expect(queues).toEqual([
    { name: 'contacts.import', queue: mine },
    { name: 'contacts.import', queue: (queues as { queue: string }[])[0]!.queue },
    { name: 'contacts.bulk', queue: null },
    { name: 'domains.check-due', queue: null },
    { name: 'contacts.import', queue: mine },
  ])
})
