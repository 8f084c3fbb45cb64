import { sql } from 'kysely'
import { z } from 'zod'
import { withNames } from '../../contacts/fields/name-fields.ts'
import type { Db } from '../../db/index.ts'
import { CursorQuery, readKeysetPage } from '../../http/core/paging.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { type CampaignRow, EXCLUSION_REASONS } from '../draft/campaign.ts'

export const ExcludedContact = z
  .object({
    contactId: z.uuid().nullable().describe('Null if the contact was deleted.'),
    email: z.string(),
    name: z.string().nullable().describe('The name of the contact now, by `nameFields` of the project.'),
    reason: z.enum(EXCLUSION_REASONS),
  })
  .meta({ id: 'CampaignExcludedContact' })

export const ExcludedQuery = CursorQuery.extend({ reason: z.enum(EXCLUSION_REASONS).optional() })

type ExcludedRow = Omit<z.output<typeof ExcludedContact>, 'name'> & { position: string }

export const EXCLUDED_COLUMNS = sql`
  x.contact_id as position, x.address as email, x.reason,
  (select p.id from contacts p where p.project_id = x.project_id and p.id = x.contact_id) as "contactId"`

/** In the order of the contacts. */
export async function listExcluded(db: Db, secrets: Secrets, campaign: CampaignRow, query: z.output<typeof ExcludedQuery>) {
  const { projectId, id, excludedCounts } = campaign
  const { reason } = query
  const page = await readKeysetPage(db, secrets, {
    scope: JSON.stringify(['excluded', projectId, id, reason]),
    query,
    select: ({ after, limit }) => sql<ExcludedRow>`
      select ${EXCLUDED_COLUMNS} from campaign_excluded x
      where x.project_id = ${projectId} and x.campaign_id = ${id} ${reason ? sql`and x.reason = ${reason}` : sql``}
        ${after ? sql`and x.contact_id > ${after[0]}` : sql``}
      order by x.contact_id limit ${limit}
    `,
    positionOf: ({ position }) => [position],
    count: async () => (reason ? excludedCounts[reason] : EXCLUSION_REASONS.reduce((sum, each) => sum + excludedCounts[each], 0)),
  })
  return { ...page, data: await withNames(db, projectId, page.data) }
}
