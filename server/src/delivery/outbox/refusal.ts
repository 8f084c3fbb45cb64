import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'

/**
 * A receiver that says while we talk to it that there is nobody at the address tells of a bounce, as a provider does later, and it is
 * kept as if one had. What follows for the contact is more than one statement, and settling must stay one.
 */
const Refusal = z.object({ refused: z.object({ projectId: z.uuid(), emailId: z.uuid(), messageId: z.string(), reason: z.string() }) })

/** Of each of the mails, with `projectId`, `id`, `messageId` and `reason`. */
export const insertRefusalsSql = (mails: RawBuilder<unknown>) => sql`
  insert into provider_notifications (id, message, project_id, email_id)
  select 'refused ' || id,
    jsonb_build_object('refused', jsonb_build_object('projectId', "projectId", 'emailId', id, 'messageId', "messageId", 'reason', reason))::text,
    "projectId", id
  from (${mails}) as mails order by 1 -- as everybody does, so that nobody waits in a circle
  on conflict do nothing`

export type RefusedByReceiver = z.output<typeof Refusal>['refused']

export const readRefusal = (message: unknown): RefusedByReceiver | undefined => Refusal.safeParse(message).data?.refused
