import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'

/**
 * A receiver that refuses an unknown recipient during the SMTP session reports a bounce, as a provider does later. The refusal is stored like
 * a notification: its consequences for the contact take several statements, and settling must stay a single one.
 */
const Refusal = z.object({ refused: z.object({ projectId: z.uuid(), emailId: z.uuid(), messageId: z.string(), reason: z.string() }) })

/** Stores a refusal for each row of (`projectId`, `id`, `messageId`, `reason`). */
export const insertRefusalsSql = (emails: RawBuilder<unknown>) => sql`
  insert into provider_notifications (id, message, project_id, email_id)
  select 'refused ' || id,
    jsonb_build_object('refused', jsonb_build_object('projectId', "projectId", 'emailId', id, 'messageId', "messageId", 'reason', reason))::text,
    "projectId", id
  from (${emails}) as emails order by 1 -- consistent lock order: avoids deadlocks
  on conflict do nothing`

export type RefusedByReceiver = z.output<typeof Refusal>['refused']

export const readRefusal = (message: unknown): RefusedByReceiver | undefined => Refusal.safeParse(message).data?.refused
