import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, one } from '../db/index.ts'

export const SetupState = z.object({
  hasVerifiedDomain: z.boolean(),
  contactCount: z.int(),
  lastCampaignSentAt: z.iso.datetime().nullable(),
  hasEnabledWorkflow: z.boolean(),
  hasSubscription: z.boolean(),
  hasSentEmail: z.boolean(),
})

/** One field per feature; features that do not exist yet are reported as not set up. */
export async function setupState(db: Db, projectId: string): Promise<z.output<typeof SetupState>> {
  const state = await one(
    db,
    sql<{ contactCount: number; hasVerifiedDomain: boolean; hasSentEmail: boolean }>`
      select
        (select coalesce(sum(total), 0)::int from contact_counts where project_id = ${projectId}) as "contactCount",
        exists (select from domains where project_id = ${projectId} and status = 'verified') as "hasVerifiedDomain",
        exists (select from emails where project_id = ${projectId} and sent_at is not null) as "hasSentEmail"
    `,
  )
  return {
    ...state,
    lastCampaignSentAt: null,
    hasEnabledWorkflow: false,
    hasSubscription: false,
  }
}
