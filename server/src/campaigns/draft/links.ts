import { z } from 'zod'
import { type Db, many, maybeScalar, type Pool } from '../../db/index.ts'
import { CAUSED_BY_HUMAN } from '../../events/last-events.ts'
import { searchWithin } from '../../http/limits/bounded-read.ts'
import { LONG_SEARCH } from '../../http/limits/too-slow.ts'
import { lowestId } from '../../lib/id.ts'
import { DAY } from '../../lib/text/units.ts'
import type { CampaignRow } from './campaign.ts'
import { addUnclicked } from './content-links.ts'

export const CampaignLink = z
  .object({
    link: z.string(),
    clicks: z.int(),
    people: z.int().describe('Recipients that clicked it.'),
  })
  .meta({ id: 'CampaignLink' })
export type CampaignLinkJson = z.output<typeof CampaignLink>

/** Links that are listed; those with the fewest clicks are left out. */
const MAX_LINKS = 1_000

/** The links of a campaign, most people first, then those that were not clicked. Clicks of machines do not count. */
export async function listLinks(db: Pool, campaign: CampaignRow): Promise<CampaignLinkJson[]> {
  const closed = await readClosedLinks(db, campaign)
  const clicked = closed ?? (await searchWithin(db, LONG_SEARCH, (tx) => readClickedLinks(tx, campaign)))
  return addUnclicked(clicked, campaign.body).slice(0, MAX_LINKS)
}

type Clicked = Pick<CampaignRow, 'projectId' | 'id' | 'startedAt'>

export const readClickedLinks = (db: Db, { projectId, id, startedAt }: Clicked): Promise<CampaignLinkJson[]> =>
  many<CampaignLinkJson>(db)`
    select events.data ->> 'link' as link, count(*)::int as clicks, count(distinct e.id)::int as people
    from emails e
    -- By contact and name, which have an index.
    join events on events.project_id = e.project_id and events.contact_id = e.contact_id and events.name = 'email.click'
      and events.email_id = e.id and events.id >= ${lowestId(new Date((startedAt ?? new Date()).getTime() - DAY))}
    where e.project_id = ${projectId} and e.campaign_id = ${id} and e.clicked_at is not null and not e.test and ${CAUSED_BY_HUMAN}
      and events.data ->> 'link' is not null
    group by 1 order by people desc, clicks desc, link limit ${MAX_LINKS}
  `

/** As they were when the counters were closed; none before. */
const readClosedLinks = (db: Db, { projectId, id }: Clicked) =>
  maybeScalar<CampaignLinkJson[] | null>(db)`select closed_links from campaigns where project_id = ${projectId} and id = ${id}`
