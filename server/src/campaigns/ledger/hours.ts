import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { many, type Pool } from '../../db/index.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { searchWithin } from '../../http/limits/bounded-read.ts'
import { LONG_SEARCH } from '../../http/limits/too-slow.ts'
import { HOUR } from '../../lib/text/units.ts'
import type { CampaignRow } from '../draft/campaign.ts'
import { ofCampaignSql } from './recipients.ts'

/** Most reactions to an email come in its first two days. */
const HOURS = 48

export const CampaignHour = z
  .object({
    from: Timestamp.describe('Start of the hour, counted from the start of the campaign.'),
    sent: z.int(),
    opened: z.int().describe('Recipients that opened the email first in this hour, without machines.'),
    clicked: z.int(),
  })
  .meta({ id: 'CampaignHour' })

type Counts = { hour: number; sent: number; opened: number; clicked: number }

/** The first 48 hours of a campaign, all of them, also those to come. Empty before its start. */
export async function listHours(db: Pool, { projectId, id, startedAt }: CampaignRow): Promise<z.output<typeof CampaignHour>[]> {
  if (!startedAt) return []
  const counted = await searchWithin(db, LONG_SEARCH, (tx) => many(tx, countsSql({ projectId, id, startedAt })))
  const byHour = new Map(counted.map((counts) => [counts.hour, counts]))
  return Array.from({ length: HOURS }, (_, hour) => {
    const { sent = 0, opened = 0, clicked = 0 } = byHour.get(hour) ?? {}
    return { from: new Date(startedAt.getTime() + hour * HOUR), sent, opened, clicked }
  })
}

/** The emails are read once; each is in up to three hours. */
function countsSql({ projectId, id, startedAt }: { projectId: string; id: string; startedAt: Date }): RawBuilder<Counts> {
  const end = new Date(startedAt.getTime() + HOURS * HOUR)
  return sql<Counts>`
    select floor(extract(epoch from fact.at - ${startedAt}::timestamptz) / 3600)::int as hour,
      (count(*) filter (where fact.kind = 'sent'))::int as sent, (count(*) filter (where fact.kind = 'opened'))::int as opened,
      (count(*) filter (where fact.kind = 'clicked'))::int as clicked
    from emails e
    cross join lateral (values ('sent', e.sent_at), ('opened', e.opened_at), ('clicked', e.clicked_at)) as fact(kind, at)
    where ${ofCampaignSql({ projectId, id })} and fact.at >= ${startedAt} and fact.at < ${end}
    group by 1`
}
