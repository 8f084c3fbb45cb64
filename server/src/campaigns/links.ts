import { sql } from 'kysely'
import { z } from 'zod'
import { many, type Pool } from '../db/index.ts'
import { CAUSED_BY_HUMAN } from '../events/last-events.ts'
import { searchWithin } from '../http/bounded-read.ts'
import { LONG_STATEMENT_MS } from '../http/too-slow.ts'
import { lowestId } from '../lib/id.ts'
import { DAY } from '../lib/units.ts'
import type { CampaignRow } from './campaign.ts'

export const CampaignLink = z
  .object({
    link: z.string(),
    clicks: z.int(),
    people: z.int().describe('Recipients that clicked it.'),
  })
  .meta({ id: 'CampaignLink' })

/** Links that are listed; those with the fewest clicks are left out. */
const MAX_LINKS = 1_000

/** The links of a campaign that people clicked, most people first. Clicks of machines do not count. */
export const listLinks = (db: Pool, { projectId, id, startedAt }: CampaignRow): Promise<z.output<typeof CampaignLink>[]> =>
  searchWithin(db, { ms: LONG_STATEMENT_MS, advice: 'Try again later.' }, (tx) =>
    many(
      tx,
      sql<z.output<typeof CampaignLink>>`
        select events.data ->> 'link' as link, count(*)::int as clicks, count(distinct e.id)::int as people
        from emails e
        -- By contact and name, which have an index.
        join events on events.project_id = e.project_id and events.contact_id = e.contact_id and events.name = 'email.click'
          and events.email_id = e.id and events.id >= ${lowestId(new Date((startedAt ?? new Date()).getTime() - DAY))}
        where e.project_id = ${projectId} and e.campaign_id = ${id} and e.clicked_at is not null and not e.test and ${CAUSED_BY_HUMAN}
          and events.data ->> 'link' is not null
        group by 1 order by people desc, clicks desc, link limit ${MAX_LINKS}
      `,
    ),
  )
