import { sql } from 'kysely'
import { maybeOne, one, type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { advanceJob, completeJob, type JobId, queueJob, takeJob } from '../jobs/job.ts'
import { countWithField, forgetField } from './fields.ts'

/** Short enough that a writer of one of these contacts hardly notices. */
const PAGE = 2_000
const WAIT_MS = 20_000
const LOOK_EVERY_MS = 50

/** Removes a field from every contact, page by page in the background, and waits for it a while. */
export async function deleteField(db: Pool, { projectId, key }: { projectId: string; key: string }) {
  const deletedFrom = await countWithField(db, projectId, key)
  const jobId = await transact(db, async (tx) => {
    await forgetField(tx, projectId, key)
    return queueJob(tx, 'contacts.delete-field', { projectId, type: 'delete-field', input: { key, contacts: deletedFrom } })
  })
  if (deletedFrom) await waitFor(db, { projectId, jobId })
  return deletedFrom
}

async function waitFor(db: Pool, { projectId, jobId }: JobId) {
  for (const deadline = performance.now() + WAIT_MS; performance.now() < deadline; ) {
    const open = await maybeOne(db, sql`select 1 from jobs where project_id = ${projectId} and id = ${jobId} and finished_at is null`)
    if (!open) return
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

type Input = { key: string; contacts: number }
type Position = { after: string; removed: number }

/** One page, and the order for the next one, in one commit. */
export const continueDeleteField = (db: Pool, job: JobId) =>
  transact(db, async (tx) => {
    const taken = await takeJob<Input, Position>(tx, job)
    if (!taken) return
    const { key, contacts } = taken.input
    const { after, removed } = taken.position ?? { after: '00000000-0000-0000-0000-000000000000', removed: 0 }
    const page = await removeFromPage(tx, { projectId: job.projectId, key, after })
    const result = { deletedFrom: removed + page.removed }
    if (!page.last) return completeJob(tx, job, result)
    await advanceJob(tx, job, {
      position: { after: page.last, removed: result.deletedFrom },
      result,
      progress: (result.deletedFrom / Math.max(1, contacts)) * 100,
    })
    await enqueue(tx, 'contacts.delete-field', job)
  })

/** Contacts are found by id and locked in the order of addresses, like everywhere. */
const removeFromPage = (tx: Tx, { projectId, key, after }: { projectId: string; key: string; after: string }) =>
  one(
    tx,
    sql<{ last: string | null; removed: number }>`
      with page as materialized (
        select id, email from contacts where project_id = ${projectId} and id > ${after} and data ? ${key} order by id limit ${PAGE}
      ), locked as (
        select c.id from contacts c join page on c.project_id = ${projectId} and c.id = page.id order by c.email for no key update of c
      ), removed as (
        update contacts c set data = data - ${key}::text, updated_at = now()
        from locked where c.project_id = ${projectId} and c.id = locked.id
        returning 1
      )
      select (select id from page order by id desc limit 1) as last, (select count(*)::int from removed) as removed
    `,
  )
