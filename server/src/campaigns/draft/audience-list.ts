import { sql } from 'kysely'
import { z } from 'zod'
import type { Pool, Tx } from '../../db/index.ts'
import { SUPPRESSION_JOINS, verdictSql } from '../../delivery/rules/may-send.ts'
import { CursorQuery, readKeysetPage } from '../../http/core/paging.ts'
import { countWithin } from '../../http/limits/bounded-read.ts'
import { failTooSlow, LONG_STATEMENT_MS } from '../../http/limits/too-slow.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { addressPattern } from '../../lib/text/like-pattern.ts'
import { scanContacts } from '../../projects/scans.ts'
import { audienceOf, audienceSql, resolveAudience } from './audience.ts'
import { type CampaignRow, EXCLUSION_REASONS } from './campaign.ts'

export const AudienceContact = z
  .object({
    contactId: z.uuid(),
    email: z.string(),
    reason: z.enum(EXCLUSION_REASONS).nullable().describe('Why the contact would not get the email; null if it would.'),
  })
  .meta({ id: 'CampaignAudienceContact' })

export const AudienceQuery = CursorQuery.extend({
  part: z
    .enum(['recipients', ...EXCLUSION_REASONS])
    .optional()
    .describe('One part of the sum of `preflight`. Without it, all contacts that match.'),
  search: z.string().max(255).optional().describe('Part of an address.'),
})

/** Totals are exact up to this number; beyond it, or when counting takes longer, they are estimates. */
const COUNT = { upTo: 10_000, ms: 2_000 }

/** The contacts behind the numbers of `preflight`, as of now. */
export async function listAudience(db: Pool, secrets: Secrets, campaign: CampaignRow, query: z.output<typeof AudienceQuery>) {
  const { projectId, id, type } = campaign
  const { part, search = '', cursor } = query
  const audience = await resolveAudience(db, projectId, audienceOf(campaign))
  const inAudience = await audienceSql(db, audience, { projectId })
  const bySearch = search.trim() ? sql`and contacts.email like ${addressPattern(search)}` : sql``
  const reason = verdictSql(type)
  const inPart = part === undefined ? sql`true` : part === 'recipients' ? sql`${reason} is null` : sql`${reason} = ${part}`
  const rows = sql`
    from contacts ${SUPPRESSION_JOINS}
    where contacts.project_id = ${projectId} and ${inAudience} and ${inPart} ${bySearch}`
  const readPage = (tx: Tx) =>
    readKeysetPage(tx, secrets, {
      scope: JSON.stringify(['audience', projectId, id, part, search.trim()]),
      query,
      select: ({ after, limit }) => sql<z.output<typeof AudienceContact>>`
        select contacts.id as "contactId", contacts.email, ${reason} as reason ${rows} ${after ? sql`and contacts.id > ${after[0]}` : sql``}
        order by contacts.id limit ${limit}`,
      positionOf: ({ contactId }) => [contactId],
    })
  const page = await scanContacts(db, { projectId, ms: LONG_STATEMENT_MS }, readPage, failTooSlow)
  return cursor === undefined ? { ...page, total: await countWithin(db, sql`select 1 ${rows}`, COUNT) } : page
}
