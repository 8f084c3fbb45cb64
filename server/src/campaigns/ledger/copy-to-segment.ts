import { sql } from 'kysely'
import { z } from 'zod'
import { type Pool, type Tx, transact } from '../../db/index.ts'
import { readPage } from '../../http/core/paging.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { advanceJob, completeJob, failJob, type JobId, lockJob, queueJob } from '../../jobs/job.ts'
import { NIL_ID } from '../../lib/id.ts'
import { addMembers } from '../../segments/members/members.ts'
import { createSegment, MAX_SEGMENT_NAME } from '../../segments/save.ts'
import type { CampaignRow } from '../draft/campaign.ts'
import { ofCampaignSql, RecipientFilter, type RecipientSelection, recipientMatchesSql } from './recipients.ts'

/** Recipients scanned by one transaction, matching or not. */
const SCANNED = 2_000

const COPY_TO_SEGMENT_JOB = 'campaign-copy-to-segment'

export const CopyToSegmentBody = z.object({
  name: z.string().trim().min(1).max(MAX_SEGMENT_NAME).describe('Name of the new segment.'),
  // Strict: a misspelt key must not copy every recipient.
  filter: z.strictObject(RecipientFilter).optional().describe('As in the list of recipients.'),
})
export const CopiedToSegment = z.object({ message: z.string(), jobId: z.uuid(), segmentId: z.uuid() })

type Input = { campaignId: string; segmentId: string; filter: RecipientSelection; total: number }
type Position = { after: string; scanned: number }

/** Makes a static segment; a job adds the recipients. */
export async function queueCopyToSegment(tx: Tx, campaign: CampaignRow, { name, filter = {} }: z.output<typeof CopyToSegmentBody>) {
  const { projectId, id: campaignId, totalRecipients: total } = campaign
  const { id: segmentId } = await createSegment(tx, { projectId, name, condition: null, trackMembership: false })
  const input: Input = { campaignId, segmentId, filter, total }
  return { segmentId, jobId: await queueJob(tx, 'campaigns.copy-to-segment', { projectId, type: COPY_TO_SEGMENT_JOB, input }) }
}

/** Adds the recipients of one page, and enqueues the next one in the same transaction. */
export const continueCopyToSegment = (db: Pool, job: JobId) =>
  transact(db, async (tx) => {
    const taken = await lockJob<Input, Position>(tx, job)
    if (!taken) return
    const { campaignId: id, segmentId, filter, total } = taken.input
    const { projectId } = job
    const { after, scanned: before } = taken.position ?? { after: NIL_ID, scanned: 0 }
    const matches = await recipientMatchesSql(tx, projectId, filter)
    const recipients = sql<{ position: string; matches: boolean }>`
      select e.contact_id as position, ${matches} as matches from emails e
      where ${ofCampaignSql({ projectId, id })} and e.contact_id > ${after} order by e.contact_id limit ${SCANNED + 1}`
    const { rows, hasMore } = await readPage(tx, recipients, SCANNED)
    const contactIds = rows.filter((row) => row.matches).map(({ position }) => position)
    const added = await addMembers(tx, { projectId, segmentId, contactIds })
    if (!added) return failJob(tx, job, 'The segment was deleted.')
    const result = { addedCount: Number(taken.result?.addedCount ?? 0) + added.changed.length }
    if (!hasMore) return completeJob(tx, job, result)
    const position: Position = { after: rows.at(-1)!.position, scanned: before + rows.length }
    await advanceJob(tx, job, { position, result, progress: (position.scanned / Math.max(1, total)) * 100 })
    await enqueue(tx, 'campaigns.copy-to-segment', job)
  })
