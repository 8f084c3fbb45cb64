import { sql } from 'kysely'
import { z } from 'zod'
import { many, type Pool, type Tx, transact } from '../db/index.ts'
import { refusedPlainly } from '../http/bounds.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { advanceJob, completeJob, type JobId, keepErrors, takeJob } from '../jobs/job.ts'
import { failPlainly } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'
import { deleteContacts, setSubscription } from './change.ts'
import { matching } from './list.ts'

export const OPERATIONS = ['subscribe', 'unsubscribe', 'delete'] as const
type Operation = (typeof OPERATIONS)[number]

/** Also the size of a page: an id that is given twice must meet itself in one. */
const MAX_IDS = 1_000
const PAGE = MAX_IDS

const SIZE = `Give 1 to ${MAX_IDS} contact ids.`
const Ids = refusedPlainly(z.array(z.string().max(100)).max(MAX_IDS), SIZE)
export const BulkBody = z.object({
  mode: z.enum(['ids', 'query']).optional(),
  contactIds: Ids.optional(),
  ids: Ids.optional(),
  filter: z.object({ search: z.string().max(255).optional(), subscribed: z.boolean().optional() }).optional(),
  excludeIds: z.array(z.string().max(100)).max(10_000).optional(),
})

/** Either a list of ids, or everyone who matches when the job gets there. */
type Selection = { ids: string[] } | { filter: { search?: string; subscribed?: boolean }; excludeIds: string[] }
type Input = { operation: Operation; selection: Selection; userId?: string }
type Position = { ids: string[] } | { after: string }
type Result = { operation: Operation; totalRequested: number; successCount: number; unchangedCount: number; failureCount: number }

export function readSelection({ mode, contactIds, ids, filter, excludeIds }: z.output<typeof BulkBody>): Selection {
  if (mode === 'query') return { filter: filter ?? {}, excludeIds: excludeIds ?? [] }
  const given = contactIds ?? ids ?? []
  if (!given.length) failPlainly('BAD_REQUEST', SIZE)
  return { ids: given }
}

/** One page, and the order for the next one, in one commit. */
export const continueBulk = (db: Pool, job: JobId) =>
  transact(db, async (tx) => {
    const taken = await takeJob<Input, Position>(tx, job)
    if (!taken) return
    const { operation, selection } = taken.input
    const so_far = (taken.result as Result | null) ?? { operation, totalRequested: 0, successCount: 0, unchangedCount: 0, failureCount: 0 }
    const page = await nextPage(tx, job.projectId, selection, taken.position)
    const result = await applyToPage(tx, job, { operation, ids: page.ids, result: so_far })
    if (!page.next) return completeJob(tx, job, result)
    await advanceJob(tx, job, { position: page.next, result, progress: page.progress })
    await enqueue(tx, 'contacts.bulk', job)
  })

type Page = { ids: string[]; next: Position | null; progress: number }

async function nextPage(tx: Tx, projectId: string, selection: Selection, position: Position | null): Promise<Page> {
  if ('ids' in selection) {
    const rest = position && 'ids' in position ? position.ids : selection.ids
    const left = rest.slice(PAGE)
    return { ids: rest.slice(0, PAGE), next: left.length ? { ids: left } : null, progress: (1 - left.length / selection.ids.length) * 100 }
  }
  const after = position && 'after' in position ? position.after : '00000000-0000-0000-0000-000000000000'
  const { search, subscribed } = selection.filter
  const where = matching(projectId, { search, subscribed: subscribed === undefined ? undefined : subscribed ? 'true' : 'false' })
  const rows = await many(tx, sql<{ id: string }>`select id from contacts where ${where} and id > ${after} order by id limit ${PAGE}`)
  const excluded = new Set(selection.excludeIds.map((id) => id.toLowerCase()))
  const last = rows.at(-1)?.id
  return {
    ids: rows.map(({ id }) => id).filter((id) => !excluded.has(id)),
    next: last && rows.length === PAGE ? { after: last } : null,
    progress: 50,
  }
}

async function applyToPage(
  tx: Tx,
  job: JobId,
  { operation, ids, result }: { operation: Operation; ids: string[]; result: Result },
): Promise<Result> {
  const wanted = [...new Set(ids)].filter(isId)
  const { found, changed } = await apply(tx, job, operation, wanted)
  const known = new Set(found)
  const missing = ids.map((id, index) => ({ id, row: result.totalRequested + index + 1 })).filter(({ id }) => !known.has(id.toLowerCase()))
  await keepErrors(
    tx,
    job,
    missing.map(({ id, row }) => ({ row, subject: id, error: 'Contact not found' })),
  )
  const good = ids.length - missing.length
  return {
    operation,
    totalRequested: result.totalRequested + ids.length,
    successCount: result.successCount + good,
    unchangedCount: result.unchangedCount + Math.max(0, good - changed.length),
    failureCount: result.failureCount + missing.length,
  }
}

async function apply(tx: Tx, { projectId, jobId }: JobId, operation: Operation, ids: string[]) {
  if (operation === 'delete') {
    const gone = await deleteContacts(tx, { projectId, ids })
    return { found: gone, changed: gone }
  }
  return setSubscription(tx, { projectId, ids, subscribed: operation === 'subscribe', source: { by: 'bulk', details: { jobId } } })
}
