import { sql } from 'kysely'
import { z } from 'zod'
import { many, type Pool } from '../../db/index.ts'
import { ERROR_CODE, ERROR_CODE_LIST } from '../../delivery/outbox/outcomes/error-code.ts'
import { searchWithin } from '../../http/limits/bounded-read.ts'
import { LONG_SEARCH } from '../../http/limits/too-slow.ts'
import type { CampaignRow } from '../draft/campaign.ts'
import { OUTCOME, OUTCOMES, ofCampaignSql } from './recipients.ts'

export const CampaignReason = z
  .object({
    outcome: z.enum(OUTCOMES),
    reason: z.enum(ERROR_CODE_LIST).nullable(),
    recipients: z.int(),
  })
  .meta({ id: 'CampaignReason' })

/** Why recipients failed, were skipped or have to wait; the most frequent reason first. There are only a few dozen. */
export function listReasons(db: Pool, campaign: CampaignRow) {
  const counted = sql<z.output<typeof CampaignReason>>`
    select ${OUTCOME} as outcome, ${ERROR_CODE} as reason, count(*)::int as recipients from emails e
    where ${ofCampaignSql(campaign)} and e.state <> 'sent'
    group by 1, 2 order by recipients desc, outcome, reason limit 100`
  return searchWithin(db, LONG_SEARCH, (tx) => many(tx, counted))
}
