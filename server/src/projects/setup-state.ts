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

/** Each feature that can be set up adds its own question here; those that do not exist yet are not set up. */
export async function setupState(db: Db, projectId: string): Promise<z.output<typeof SetupState>> {
  const { contactCount } = await one(
    db,
    sql<{
      contactCount: number
    }>`select coalesce(sum(total), 0)::int as "contactCount" from contact_counts where project_id = ${projectId}`,
  )
  return {
    hasVerifiedDomain: false,
    contactCount,
    lastCampaignSentAt: null,
    hasEnabledWorkflow: false,
    hasSubscription: false,
    hasSentEmail: false,
  }
}
