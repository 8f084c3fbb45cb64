import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { many, type Pool, type Tx, transact } from '../db/index.ts'
import { refusedPlainly } from '../http/core/bounds.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { advanceJob, completeJob, failJob, type JobId, lockJob, queueJob, saveErrors } from '../jobs/job.ts'
import { failPlainly, invalid, notFound } from '../lib/errors/errors.ts'
import { isId, NIL_ID } from '../lib/id.ts'
import { deleteContacts, setSubscription } from './changes/change.ts'
import { jobSource } from './record/source.ts'
import type { Source } from './record/subscription.ts'
import { inIdRangeSql, isEmptyFilter, JobFilter, rowMatchesSql, withNameFields } from './selection/filter.ts'
import { namesMembers, type SegmentAccess, selectMembers } from './selection/segment-access.ts'

export const OPERATIONS = ['subscribe', 'unsubscribe', 'delete', 'add-to-segment'] as const
type Operation = (typeof OPERATIONS)[number]

/** Also the page size, so that duplicate ids are in the same page. */
const MAX_IDS = 1_000
const PAGE = MAX_IDS
/** Contacts scanned by one statement, matching or not: bounds it when few contacts of a large project match. */
const SCANNED_CONTACTS = 2_000

const SIZE = `Give 1 to ${MAX_IDS} contact ids.`
const Ids = refusedPlainly(z.array(z.string().max(100)).max(MAX_IDS).meta({ minItems: 1 }), SIZE)
const Selected = z.object({
  mode: z.enum(['ids', 'query']).optional(),
  contactIds: Ids.optional(),
  ids: Ids.optional(),
  filter: JobFilter.optional(),
  excludeIds: z.array(z.string().max(100)).max(10_000).optional(),
  all: z.boolean().optional().describe('Act on every contact when the filter is empty.'),
})
const ONE_FORM = {
  anyOf: [{ required: ['contactIds'] }, { required: ['ids'] }, { required: ['mode'], properties: { mode: { const: 'query' } } }],
}
export const BulkBody = Selected.meta(ONE_FORM)
export const AddToSegmentBody = Selected.extend({ segmentId: z.uuid().describe('A static segment.') }).meta(ONE_FORM)

/** Either a list of ids, or every contact that matches when the job reaches it. */
type Query = { where: z.output<typeof JobFilter>; excludeIds: string[] }
type Selection = { ids: string[] } | Query
/** `segmentId`: the segment to add to. */
type Input = { operation: Operation; selection: Selection; startedBy: Source; segmentId?: string }
type Position = { ids: string[] } | { after: string }
type Result = { operation: Operation; totalRequested: number; successCount: number; unchangedCount: number; failureCount: number }

export function readSelection({ mode, contactIds, ids, filter = {}, excludeIds = [], all }: z.output<typeof BulkBody>): Selection {
  if (mode === 'query') {
    if (isEmptyFilter(filter) && !namesMembers(filter) && !all)
      invalid('filter', 'Give a filter, or "all": true to act on every contact.', 'required')
    return { where: filter, excludeIds }
  }
  const given = contactIds ?? ids ?? []
  if (!given.length) failPlainly('BAD_REQUEST', SIZE)
  return { ids: given }
}

/** A segment that does not exist is a 404, a dynamic one to add to a 400. */
export async function queueBulk(tx: Tx, segments: SegmentAccess, projectId: string, input: Input) {
  const { operation, selection, segmentId } = input
  if ('where' in selection) await selectMembers(segments, tx, projectId, { ...selection.where, path: 'filter.condition' })
  if (segmentId && !(await segments.lock(tx, { projectId, segmentId }))) notFound('segment', segmentId)
  const named = 'ids' in selection ? selection : { ...selection, where: await withNameFields(tx, projectId, selection.where) }
  return queueJob(tx, 'contacts.bulk', { projectId, type: `bulk-${operation}`, input: { ...input, selection: named } })
}

/** Processes one page and enqueues the next one in the same transaction. */
export const continueBulk = (db: Pool, segments: SegmentAccess, job: JobId) =>
  transact(db, async (tx) => {
    const taken = await lockJob<Input, Position>(tx, job)
    if (!taken) return
    const { operation, selection } = taken.input
    const inSegment = await inSegmentSql(tx, segments, job.projectId, taken.input)
    if (!inSegment) return failJob(tx, job, 'The segment was deleted.')
    const before = (taken.result as Result | null) ?? { operation, totalRequested: 0, successCount: 0, unchangedCount: 0, failureCount: 0 }
    const page = await nextPage(tx, job.projectId, { selection, inSegment, position: taken.position })
    const result = await applyToPage(tx, segments, job, { input: taken.input, ids: page.ids, result: before })
    if (!page.next) return completeJob(tx, job, result)
    await advanceJob(tx, job, { position: page.next, result, progress: page.progress })
    await enqueue(tx, 'contacts.bulk', job)
  })

/** True for the contacts of the segment and condition to select from; for all contacts without them. Undefined when a segment of the job is gone. */
async function inSegmentSql(tx: Tx, segments: SegmentAccess, projectId: string, { selection, segmentId }: Input) {
  if (segmentId && !(await segments.lock(tx, { projectId, segmentId }))) return undefined
  return 'where' in selection ? segments.select(tx, projectId, selection.where) : sql`true`
}

type NextPage = { selection: Selection; inSegment: RawBuilder<unknown>; position: Position | null }

async function nextPage(tx: Tx, projectId: string, { selection, inSegment, position }: NextPage) {
  if ('ids' in selection) {
    const rest = position && 'ids' in position ? position.ids : selection.ids
    const left = rest.slice(PAGE)
    return { ids: rest.slice(0, PAGE), next: left.length ? { ids: left } : null, progress: (1 - left.length / selection.ids.length) * 100 }
  }
  const { where } = selection
  const after = position && 'after' in position ? position.after : NIL_ID
  const rows = await many<{ id: string; matches: boolean }>(tx)`
    select id, ${rowMatchesSql(where)} and ${inSegment} as matches from contacts
    where ${inIdRangeSql(projectId, where)} and id > ${after} order by id limit ${SCANNED_CONTACTS}
  `
  const excluded = new Set(selection.excludeIds.map((id) => id.toLowerCase()))
  const last = rows.at(-1)?.id
  return {
    ids: rows.flatMap(({ id, matches }) => (matches && !excluded.has(id) ? id : [])),
    next: last && rows.length === SCANNED_CONTACTS ? { after: last } : null,
    progress: 50,
  }
}

type Application = { input: Input; ids: string[]; result: Result }

async function applyToPage(tx: Tx, segments: SegmentAccess, job: JobId, { input, ids, result }: Application): Promise<Result> {
  const { found, changed } = await apply(tx, segments, job, input, [...new Set(ids)].filter(isId))
  const known = new Set(found)
  const rows = ids.map((subject, index) => ({ row: result.totalRequested + index + 1, subject, error: 'Contact not found' }))
  const missing = rows.filter(({ subject }) => !known.has(subject.toLowerCase()))
  await saveErrors(tx, job, missing)
  const foundCount = ids.length - missing.length
  return {
    operation: input.operation,
    totalRequested: result.totalRequested + ids.length,
    successCount: result.successCount + foundCount,
    unchangedCount: result.unchangedCount + Math.max(0, foundCount - changed.length),
    failureCount: result.failureCount + missing.length,
  }
}

async function apply(tx: Tx, segments: SegmentAccess, { projectId, jobId }: JobId, input: Input, ids: string[]) {
  const { operation, startedBy, segmentId } = input
  if (operation === 'delete') {
    const deleted = await deleteContacts(tx, { projectId, ids })
    return { found: deleted, changed: deleted }
  }
  // The segment is held: it cannot be gone.
  if (operation === 'add-to-segment') return (await segments.add(tx, { projectId, segmentId: segmentId!, contactIds: ids }))!
  return setSubscription(tx, { projectId, ids, subscribed: operation === 'subscribe', source: jobSource('bulk', jobId, startedBy) })
}
