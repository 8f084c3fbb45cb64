import { z } from 'zod'
import { type Db, scalar } from '../../db/index.ts'
import { lowestId } from '../../lib/id.ts'
import { percent } from '../../lib/text/percent.ts'
import { DAY } from '../../lib/text/units.ts'
import type { CampaignRow } from '../draft/campaign.ts'

const Rate = z.number().describe('Percent, with one decimal.')

export const CampaignStats = z
  .object({
    totalRecipients: z.int(),
    sentCount: z.int(),
    deliveredCount: z.int(),
    openedCount: z.int(),
    clickedCount: z.int(),
    machineOpenedCount: z.int(),
    machineClickedCount: z.int(),
    bouncedCount: z.int(),
    complainedCount: z.int(),
    unsubscribedCount: z.int(),
    failedCount: z.int(),
    skippedCount: z.int(),
    openRate: Rate,
    clickRate: Rate,
    bounceRate: Rate.describe('Percent of the emails that were sent or refused during transmission, with one decimal.'),
    deliveryRate: Rate,
    deliveryReported: z.boolean().describe('False if the transport reports no deliveries, as plain SMTP.'),
  })
  .meta({ id: 'CampaignStats' })

type Counters = Pick<CampaignRow, Extract<keyof z.output<typeof CampaignStats>, keyof CampaignRow>>

/** `refusedCount`: bounced during transmission, and so not among the sent. */
export function statsOf(campaign: Counters, { refusedCount, deliveryReported }: { refusedCount: number; deliveryReported: boolean }) {
  const { sentCount, deliveredCount, openedCount, clickedCount, bouncedCount } = campaign
  return {
    ...campaign,
    openRate: percent(openedCount, sentCount),
    clickRate: percent(clickedCount, sentCount),
    bounceRate: percent(bouncedCount, sentCount + refusedCount),
    deliveryRate: percent(deliveredCount, sentCount),
    deliveryReported,
  }
}

/**
 * Emails that a receiver refused during transmission. Failed emails have an index by id, and ids begin with the time. Once the counters are
 * closed, as it was then.
 */
export async function countRefused(db: Db, { projectId, id, startedAt, failedCount }: CampaignRow): Promise<number> {
  if (!startedAt || !failedCount) return 0
  return scalar<number>(db)`
    select coalesce((select closed_refused_count from campaigns where project_id = ${projectId} and id = ${id}), (
      select count(*)::int from emails e
      where e.project_id = ${projectId} and e.state = 'failed' and e.id >= ${lowestId(new Date(startedAt.getTime() - DAY))}
        and e.campaign_id = ${id} and e.error_code = 'bounced'))
  `
}
