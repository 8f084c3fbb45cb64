import { z } from 'zod'
import { many, type Pool } from '../../db/index.ts'
import { ERROR_CODE, ERROR_CODE_LIST } from '../../delivery/outbox/error-code.ts'
import { searchWithin } from '../../http/limits/bounded-read.ts'
import { LONG_STATEMENT_MS } from '../../http/limits/too-slow.ts'
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
export const listReasons = (db: Pool, { projectId, id }: CampaignRow): Promise<z.output<typeof CampaignReason>[]> =>
  searchWithin(
    db,
    { ms: LONG_STATEMENT_MS, advice: 'Try again later.' },
    (tx) =>
      many<z.output<typeof CampaignReason>>(tx)`
        select ${OUTCOME} as outcome, ${ERROR_CODE} as reason, count(*)::int as recipients from emails e
        where ${ofCampaignSql({ projectId, id })} and e.state <> 'sent'
        group by 1, 2 order by recipients desc, outcome, reason limit 100
      `,
  )
