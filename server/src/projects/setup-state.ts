import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, one } from '../db/index.ts'
import { Timestamp } from '../http/core/validate.ts'

export const SetupState = z.object({
  hasVerifiedDomain: z.boolean(),
  contactCount: z.int(),
  lastCampaignSentAt: Timestamp.nullable(),
  hasEnabledWorkflow: z.boolean(),
  hasSubscription: z.boolean(),
  hasSentEmail: z.boolean(),
  hasUsedApi: z.boolean().describe('A key of the project was used.'),
  hasTrackedEvent: z.boolean(),
  hasTemplate: z.boolean(),
  hasSegment: z.boolean(),
})

/** Not recorded by the service itself. */
const IS_TRACKED = sql`name !~ '^(email|contact|segment)[.]' and count > 0`

/** One field per feature. */
export const setupState = (db: Db, projectId: string) =>
  one<z.output<typeof SetupState>>(db)`
    select
      (select coalesce(sum(total), 0)::int from (
        select total from contact_counts where project_id = ${projectId}
        union all select total from contact_count_deltas where project_id = ${projectId}) as counted) as "contactCount",
      exists (select from domains where project_id = ${projectId} and status = 'verified') as "hasVerifiedDomain",
      exists (select from emails where project_id = ${projectId} and sent_at is not null) as "hasSentEmail",
      exists (select from key_usage where project_id = ${projectId}) as "hasUsedApi",
      exists (
        select from event_counts where project_id = ${projectId} and ${IS_TRACKED}
        union all select from event_count_deltas where project_id = ${projectId} and ${IS_TRACKED}) as "hasTrackedEvent",
      (select max(sent_at) from campaigns where project_id = ${projectId} and deleted_at is null) as "lastCampaignSentAt",
      exists (select from workflows where project_id = ${projectId} and enabled) as "hasEnabledWorkflow",
      exists (select from templates where project_id = ${projectId}) as "hasTemplate",
      exists (select from projects where id = ${projectId} and subscription is not null) as "hasSubscription",
      exists (select from segments where project_id = ${projectId}) as "hasSegment"
  `
