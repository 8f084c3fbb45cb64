import { sql } from 'kysely'
import { z } from 'zod'
import type { Tx } from '../../db/index.ts'
import { ERROR_CODE_LIST } from '../../delivery/outbox/outcomes/error-code.ts'
import { NIL_ID } from '../../lib/id.ts'
import { type CsvExport, type ExportedRow, queueCsvExport } from '../../projects/csv/csv-export.ts'
import type { CampaignRow } from '../draft/campaign.ts'
import { EXCLUDED_COLUMNS } from './excluded.ts'
import { ofCampaignSql, RECIPIENT_COLUMNS, RecipientFilter, type RecipientSelection, recipientMatchesSql } from './recipients.ts'

export const CampaignExportBody = z.object({
  list: z.enum(['recipients', 'excluded']),
  // Strict: a misspelt key must not export every recipient.
  filter: z
    .strictObject({ ...RecipientFilter, reason: z.enum(ERROR_CODE_LIST).optional() })
    .optional()
    .describe('As in the list. Excluded contacts are filtered by `reason` only.'),
})
type ExportBody = z.output<typeof CampaignExportBody>

type Input = { campaignId: string; selection: ExportBody; total: number }

const COLUMNS = {
  recipients: ['email', 'contactId', 'status', 'outcome', 'reason', 'attempts', 'queuedAt', 'sentAt', 'deliveredAt'],
  excluded: ['email', 'contactId', 'reason'],
}

/** In the order of the contacts. */
export const campaignExport: CsvExport<Input> = {
  job: 'campaigns.export',
  type: 'campaign-export',
  columns: ({ selection }) => COLUMNS[selection.list],
  async select(db, { projectId, input: { campaignId: id, selection }, after = NIL_ID, limit }) {
    if (selection.list === 'excluded') {
      const matches = selection.filter?.reason ? sql`x.reason = ${selection.filter.reason}` : sql`true`
      return sql<ExportedRow>`
        select ${EXCLUDED_COLUMNS}, ${matches} as matches from campaign_excluded x
        where x.project_id = ${projectId} and x.campaign_id = ${id} and x.contact_id > ${after} order by x.contact_id limit ${limit + 1}`
    }
    const matches = await recipientMatchesSql(db, projectId, (selection.filter ?? {}) as RecipientSelection)
    return sql<ExportedRow>`
      select ${RECIPIENT_COLUMNS}, ${matches} as matches from emails e
      where ${ofCampaignSql({ projectId, id })} and e.contact_id > ${after} order by e.contact_id limit ${limit + 1}`
  },
  progressAt: ({ total }, { scanned }) => scanned / Math.max(1, total),
}

export function queueCampaignExport(tx: Tx, campaign: CampaignRow, selection: ExportBody) {
  const { projectId, id: campaignId, totalRecipients, excludedCounts } = campaign
  const excluded = excludedCounts.unsubscribed + excludedCounts.suppressed + excludedCounts.invalid
  const total = selection.list === 'recipients' ? totalRecipients : excluded
  return queueCsvExport(tx, campaignExport, projectId, { campaignId, selection, total })
}
