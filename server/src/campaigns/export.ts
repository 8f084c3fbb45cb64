import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { type Pool, type Tx, transact } from '../db/index.ts'
import { ERROR_CODE_LIST } from '../delivery/outbox/error-code.ts'
import { readPage } from '../http/paging.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { advanceJob, completeJob, countUnfinished, failJob, type JobId, lockJob, queueJob } from '../jobs/job.ts'
import { dropPiecesBeyond, savePiece } from '../jobs/pieces.ts'
import { csvCell } from '../lib/csv-cell.ts'
import { fail } from '../lib/errors.ts'
import { NIL_ID } from '../lib/id.ts'
import { MB } from '../lib/units.ts'
import type { CampaignRow } from './campaign.ts'
import { EXCLUDED_COLUMNS } from './excluded.ts'
import { ofCampaignSql, RECIPIENT_COLUMNS, RecipientFilter, type RecipientSelection, recipientMatchesSql } from './recipients.ts'

/** Rows scanned by one statement, matching or not. */
const SCANNED = 2_000
/** About a second of work; then a new job continues, so that a killed worker costs at most one attempt of it. */
const CHUNKS_PER_JOB = 10
const MAX_BYTES = 500 * MB
const MAX_UNFINISHED = 2
/** Files kept per project, besides the one being made. */
const MAX_KEPT = 4
const RETRY_AFTER_SECONDS = 10

export const CAMPAIGN_EXPORT_JOB = 'campaign-export'

export const CampaignExportBody = z.object({
  list: z.enum(['recipients', 'excluded']),
  // Strict: a misspelt key must not export every recipient.
  filter: z
    .strictObject({ ...RecipientFilter, reason: z.enum([...ERROR_CODE_LIST, 'invalid']).optional() })
    .optional()
    .describe('As in the list. Excluded contacts are filtered by `reason` only.'),
})
type ExportBody = z.output<typeof CampaignExportBody>

type Input = { campaignId: string; selection: ExportBody; total: number }
type Position = { after: string; piece: number; scanned: number }
type Result = { exportedCount: number; bytes: number }
type Row = Record<string, unknown> & { position: string; matches: boolean }

const START: Position = { after: NIL_ID, piece: 0, scanned: 0 }
/** Without it, Excel reads UTF-8 as another encoding. */
const BYTE_ORDER_MARK = '\ufeff'

const COLUMNS = {
  recipients: ['email', 'contactId', 'status', 'outcome', 'reason', 'attempts', 'queuedAt', 'sentAt', 'deliveredAt'],
  excluded: ['email', 'contactId', 'reason'],
}

export async function queueCampaignExport(tx: Tx, campaign: CampaignRow, selection: ExportBody) {
  const { projectId, id: campaignId, totalRecipients, excludedCounts } = campaign
  if ((await countUnfinished(tx, { projectId, type: CAMPAIGN_EXPORT_JOB })) >= MAX_UNFINISHED)
    fail('RATE_LIMIT_EXCEEDED', {
      message: `This project has ${MAX_UNFINISHED} unfinished exports. Wait until one of them has finished.`,
      retryAfter: RETRY_AFTER_SECONDS,
    })
  await dropPiecesBeyond(tx, { projectId, type: CAMPAIGN_EXPORT_JOB, keep: MAX_KEPT })
  const excluded = excludedCounts.unsubscribed + excludedCounts.suppressed + excludedCounts.invalid
  const input: Input = { campaignId, selection, total: selection.list === 'recipients' ? totalRecipients : excluded }
  return queueJob(tx, 'campaigns.export', { projectId, type: CAMPAIGN_EXPORT_JOB, input })
}

/** Writes pieces of the file. The position moves in the transaction that writes a piece: a killed worker repeats nothing. */
export async function continueCampaignExport(db: Pool, job: JobId) {
  for (let chunk = 1; chunk <= CHUNKS_PER_JOB; chunk++)
    if (!(await transact(db, (tx) => exportChunk(tx, job, { isLast: chunk === CHUNKS_PER_JOB })))) return
}

/** Returns whether the job goes on here. */
async function exportChunk(tx: Tx, job: JobId, { isLast }: { isLast: boolean }): Promise<boolean> {
  const taken = await lockJob<Input, Position>(tx, job)
  if (!taken) return false
  const { input, position } = taken
  const at = position ?? START
  const before = (taken.result as Result | null) ?? { exportedCount: 0, bytes: 0 }
  const { rows, hasMore } = await readPage(tx, await selectRows(tx, job, input, at.after), SCANNED)
  const columns = COLUMNS[input.selection.list]
  const matching = rows.filter(({ matches }) => matches)
  const content = (position ? '' : `${BYTE_ORDER_MARK}${columns.join(',')}\r\n`) + matching.map((row) => printRow(row, columns)).join('')
  if (content) await savePiece(tx, job, { piece: at.piece, content })
  const result: Result = { exportedCount: before.exportedCount + matching.length, bytes: before.bytes + Buffer.byteLength(content) }
  if (result.bytes > MAX_BYTES) return failJob(tx, job, TOO_LARGE).then(() => false)
  if (!hasMore) return completeJob(tx, job, result).then(() => false)
  const scanned = at.scanned + rows.length
  const next: Position = { after: rows.at(-1)!.position, piece: at.piece + (content ? 1 : 0), scanned }
  await advanceJob(tx, job, { position: next, result, progress: (scanned / Math.max(1, input.total)) * 100 })
  if (isLast) await enqueue(tx, 'campaigns.export', job)
  return !isLast
}

const TOO_LARGE = `The file would be larger than ${MAX_BYTES / MB} MB. Export a part of the recipients.`

async function selectRows(tx: Tx, { projectId }: JobId, { campaignId: id, selection }: Input, after: string): Promise<RawBuilder<Row>> {
  if (selection.list === 'excluded') {
    const matches = selection.filter?.reason ? sql`x.reason = ${selection.filter.reason}` : sql`true`
    return sql<Row>`
      select ${EXCLUDED_COLUMNS}, ${matches} as matches from campaign_excluded x
      where x.project_id = ${projectId} and x.campaign_id = ${id} and x.contact_id > ${after} order by x.contact_id limit ${SCANNED + 1}`
  }
  const matches = await recipientMatchesSql(tx, projectId, (selection.filter ?? {}) as RecipientSelection)
  return sql<Row>`
    select ${RECIPIENT_COLUMNS}, ${matches} as matches from emails e
    where ${ofCampaignSql({ projectId, id })} and e.contact_id > ${after} order by e.contact_id limit ${SCANNED + 1}`
}

const printRow = (row: Row, columns: string[]) => `${columns.map((column) => printCell(row[column])).join(',')}\r\n`

function printCell(value: unknown) {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  return csvCell(value instanceof Date ? value.toISOString() : String(value))
}
