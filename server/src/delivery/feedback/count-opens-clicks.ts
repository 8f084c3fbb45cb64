import { sql } from 'kysely'
import { columns, type RowOf } from '../../db/columns.ts'
import { many, type Tx } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import type { OpenedEmail } from '../message/links/tracking-token.ts'
import { CONTACT } from '../outbox/outcomes/contact-id.ts'
import { addEntries, type FactKind } from '../outbox/outcomes/email-ledger.ts'
import { FACTS } from '../outbox/outcomes/ended.ts'

const ROW = columns('emails', 'e', ['projectId', 'id', 'campaignId', 'test', 'opens', 'clicks'])
/** An email whose opens and clicks are being counted. */
export type TrackedEmail = RowOf<typeof ROW> & {
  contactId: string | null
  /** Earliest time at which the recipient may have had it. */
  leftAt: Date
  now: Date
  isOpened: boolean
  isClicked: boolean
  data: object
}

/** Locks the emails, so that no other transaction counts their opens and clicks meanwhile. Deleted emails are left out. */
export const lockTrackedEmails = (tx: Tx, emails: OpenedEmail[]) =>
  many<TrackedEmail>(tx)`
    select ${ROW}, ${CONTACT} as "contactId", coalesce(e.sent_at, e.handed_over_at, e.created_at) as "leftAt", clock_timestamp() as now,
      e.opened_at is not null as "isOpened", e.clicked_at is not null as "isClicked", ${FACTS} as data
    from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
    where (e.project_id, e.id) in (
      select "projectId", "emailId" from ${recordset('email_hits', emails, ['projectId', 'emailId'])} as m)
    order by e.project_id, e.id -- consistent lock order: avoids deadlocks
    for update of e
  `

/** New opens and clicks of an email, with the time of the first of each. */
export type OpenClickCount = Pick<TrackedEmail, 'projectId' | 'id' | 'opens' | 'clicks'> & Record<'openedAt' | 'clickedAt', string | null>

/** Counts, for its campaign, what happened to an email for the first time. The caller holds the locks of the emails. */
export function countFirsts(tx: Tx, firsts: { email: TrackedEmail; kinds: FactKind[] }[]) {
  const entries = firsts.flatMap(({ email, kinds }) => kinds.map((kind) => ({ ...email, kind })))
  return addEntries(tx, entries)
}

/** Counts only increase. A click also sets `opened_at`: the email was read, even if its images were not loaded. */
export async function countOpensAndClicks(tx: Tx, counts: OpenClickCount[]) {
  if (!counts.length) return
  await sql`
    update emails e set
      opens = e.opens + h.opens,
      clicks = e.clicks + h.clicks,
      opened_at = coalesce(e.opened_at, least(h."openedAt", h."clickedAt")),
      clicked_at = coalesce(e.clicked_at, h."clickedAt"),
      updated_at = now()
    from ${recordset('emails', counts, ['projectId', 'id', 'opens', 'clicks', 'openedAt', 'clickedAt'])} as h
    where e.project_id = h."projectId" and e.id = h.id
  `.execute(tx)
}
