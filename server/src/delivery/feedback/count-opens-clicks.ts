import { sql } from 'kysely'
import { many, type Tx } from '../../db/index.ts'
import type { OpenedEmail } from '../message/tracking-token.ts'
import { CONTACT } from '../outbox/contact-id.ts'
import { FACTS } from '../outbox/settle.ts'

export type HitMail = {
  projectId: string
  id: string
  contactId: string | null
  /** Since when somebody may have it. */
  leftAt: Date
  now: Date
  opens: number
  clicks: number
  data: object
}

/** Nobody else counts hits of these mails until the end of the transaction. Those that are gone are left out. */
export const lockHitMails = (tx: Tx, mails: OpenedEmail[]) =>
  many(
    tx,
    sql<HitMail>`
      select e.project_id as "projectId", e.id, ${CONTACT} as "contactId", coalesce(e.sent_at, e.handed_over_at, e.created_at) as "leftAt",
        clock_timestamp() as now, e.opens, e.clicks, ${FACTS} as data
      from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
      where (e.project_id, e.id) in (
        select "projectId", "emailId" from jsonb_to_recordset(${JSON.stringify(mails)}::jsonb) as m("projectId" uuid, "emailId" uuid))
      order by e.project_id, e.id -- as everybody does, so that nobody waits in a circle
      for update of e
    `,
  )

/** How many more, and when the first of these was. */
export type HitCount = { projectId: string; id: string; opens: number; clicks: number; openedAt: string | null; clickedAt: string | null }

/** Only ever forward. Who followed a link has seen the mail, whatever became of the images in it. */
export async function countHits(tx: Tx, counts: HitCount[]) {
  if (!counts.length) return
  await sql`
    update emails e set
      opens = e.opens + h.opens,
      clicks = e.clicks + h.clicks,
      opened_at = coalesce(e.opened_at, least(h."openedAt", h."clickedAt")),
      clicked_at = coalesce(e.clicked_at, h."clickedAt"),
      updated_at = now()
    from jsonb_to_recordset(${JSON.stringify(counts)}::jsonb) as h(
      "projectId" uuid, id uuid, opens int, clicks int, "openedAt" timestamptz, "clickedAt" timestamptz)
    where e.project_id = h."projectId" and e.id = h.id
  `.execute(tx)
}
