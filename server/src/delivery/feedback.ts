import { sql } from 'kysely'
import { setSubscription } from '../contacts/change.ts'
import { maybeOne, type Tx } from '../db/index.ts'
import { recordEvents } from '../events/record.ts'
import { FACTS, isoTime } from './settle.ts'

/** What became of a mail after it was taken. A bounce is one for good. */
export type Feedback = { is: 'delivery' } | { is: 'bounce'; reason: string } | { is: 'complaint' }

const TIMES = { delivery: sql.ref('delivered_at'), bounce: sql.ref('bounced_at'), complaint: sql.ref('complained_at') }
const MORE = {
  delivery: sql`jsonb_build_object('deliveredAt', ${isoTime(sql`e.delivered_at`)})`,
  bounce: sql`jsonb_build_object('bounceType', 'Permanent')`,
  complaint: sql`'{}'::jsonb`,
}

type Told = { contactId: string | null; address: string; data: object }

/** Each fact counts once, in whatever order they come. Who bounced or complained gets nothing any more. */
export async function recordFeedback(tx: Tx, { projectId, id }: { projectId: string; id: string }, feedback: Feedback) {
  const time = TIMES[feedback.is]
  const mail = await maybeOne(
    tx,
    sql<Told>`
      update emails e set ${time} = now(), updated_at = now()
      from contents c
      where e.project_id = ${projectId} and e.id = ${id} and e.${time} is null and c.project_id = e.project_id and c.id = e.content_id
      returning e.contact_id as "contactId", e.to_address as address, ${FACTS} || ${MORE[feedback.is]} as data
    `,
  )
  if (!mail) return
  const reason = feedback.is === 'bounce' ? { reason: feedback.reason } : {}
  await recordEvents(tx, [
    {
      projectId,
      name: `email.${feedback.is}`,
      emailId: id,
      data: { ...mail.data, ...reason },
      ...(mail.contactId ? { contactId: mail.contactId } : {}),
    },
  ])
  if (feedback.is !== 'delivery') await sendNoMore(tx, { projectId, emailId: id, ...mail, by: feedback.is })
}

type Unwilling = { projectId: string; emailId: string; contactId: string | null; address: string; by: 'bounce' | 'complaint' }

async function sendNoMore(tx: Tx, { projectId, emailId, contactId, address, by }: Unwilling) {
  await sql`
    insert into suppressions (project_id, address, reason) values (${projectId}, ${address}, ${by}) on conflict do nothing
  `.execute(tx)
  const source = { by, details: { emailId } }
  if (contactId) await setSubscription(tx, { projectId, ids: [contactId], subscribed: false, source })
}
