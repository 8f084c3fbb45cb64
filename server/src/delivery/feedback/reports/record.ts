import { sql } from 'kysely'
import { columns, type RowOf } from '../../../db/columns.ts'
import { many, type Tx } from '../../../db/index.ts'
import { prepared } from '../../../db/prepared.ts'
import { recordset } from '../../../db/rows.ts'
import { recordEvents } from '../../../events/record.ts'
import { groupBy } from '../../../lib/collections/group-by.ts'
import { SENT_OR_REFUSED } from '../../../projects/email-counts.ts'
import { CONTACT } from '../../outbox/outcomes/contact-id.ts'
import { addEntries, type LedgerEntry } from '../../outbox/outcomes/email-ledger.ts'
import { FACTS, isoTime } from '../../outbox/outcomes/ended.ts'
import type { Feedback } from '../../transport/transport.ts'
import { clearSoftBounces, countSoftBounce } from './soft-bounce.ts'
import { suppressRecipients } from './suppress.ts'

type EmailRef = { projectId: string; id: string }
type EmailFeedback = EmailRef & { feedback: Feedback }
const ROW = columns('emails', 'e', ['projectId', 'id', 'campaignId', 'test'])
type AffectedEmail = RowOf<typeof ROW> & { contactId: string | null; address: string; data: object; at: Date }

/** Records each fact once, in any order. After a hard bounce or a complaint the recipient is suppressed. */
export const recordFeedback = (tx: Tx, { projectId, id }: EmailRef, feedback: Feedback) =>
  recordFeedbacks(tx, [{ projectId, id, feedback }])

/** The same for any number of emails, with a few statements for all of them. */
export async function recordFeedbacks(tx: Tx, items: EmailFeedback[]) {
  for (const [kind, ofKind] of groupBy(items, ({ feedback }) => feedback.is)) {
    if (kind === 'soft-bounce') await recordSoftBounces(tx, ofKind)
    else await recordFacts(tx, kind, ofKind)
  }
}

const TIMES = { delivery: sql.ref('delivered_at'), bounce: sql.ref('bounced_at'), complaint: sql.ref('complained_at') }
const OUTCOME_OF = { delivery: 'delivered', bounce: 'bounced', complaint: 'complained' } as const
const EXTRA_DATA = {
  delivery: sql`jsonb_build_object('deliveredAt', ${isoTime(sql`e.delivered_at`)})`,
  bounce: sql`jsonb_build_object('bounceType', 'Permanent')`,
  complaint: sql`'{}'::jsonb`,
}

/** A look-up rather than a join: the planner may join all contents of the project. */
const FACTS_OF_EMAIL = sql`(select ${FACTS} from contents c where c.project_id = e.project_id and c.id = e.content_id)`

async function recordFacts(tx: Tx, kind: keyof typeof TIMES, items: EmailFeedback[]) {
  const time = TIMES[kind]
  const first = new Map(items.toReversed().map((item) => [item.id, item]))
  const reported = [...first.values()]
  const affected = await many(
    tx,
    prepared<AffectedEmail & CountedEmail>`
    update emails e set ${time} = ${EVENT_TIME}, vars = case when ${kind !== 'bounce'} then e.vars end, updated_at = now()
    from ${asRows(reported)}
    where e.project_id = m."projectId" and e.id = m.id and ${isOneOf(reported)} and e.${time} is null
    returning ${ROW}, ${CONTACT} as "contactId", e.to_address as address, ${EVENT_TIME} as at,
      ${FACTS_OF_EMAIL} || ${EXTRA_DATA[kind]} as data, e.sent_at is not null as "wasSent",
      case when e.metered and ${kind !== 'delivery'} then ${SENT_OR_REFUSED} end as "countedAt"
  `,
  )
  const entries = affected.flatMap((email) => entriesOf(email, kind))
  const events = affected.filter(hasEvents).map((email) => eventOf(email, `email.${kind}`, first.get(email.id)!.feedback))
  await addEntries(tx, entries)
  await recordEvents(tx, events)
  if (kind === 'delivery') await clearSoftBounces(tx, affected)
  else await suppressRecipients(tx, kind, affected)
}

/** Bounces and complaints count for the reputation. */
type CountedEmail = { wasSent: boolean; countedAt: Date | null }

/** An email that the receiver refused during transmission was never sent: it counts as attempted with its bounce. */
function entriesOf(email: AffectedEmail & CountedEmail, kind: keyof typeof OUTCOME_OF): LedgerEntry[] {
  const entry = { ...email, kind: OUTCOME_OF[kind] }
  return kind === 'bounce' && !email.wasSent ? [entry, { ...entry, kind: 'attempted', campaignId: null }] : [entry]
}

/** One by one: soft bounces are few, and whether one reaches the limit depends on those before it. */
async function recordSoftBounces(tx: Tx, items: EmailFeedback[]) {
  const first = new Map(items.toReversed().map((item) => [item.id, item]))
  const affected = await many<AffectedEmail>(tx)`
    select ${ROW}, ${CONTACT} as "contactId", e.to_address as address, ${EVENT_TIME} as at, ${FACTS} || jsonb_build_object('bounceType', 'Transient') as data
    from ${asRows([...first.values()])}
    join emails e on e.project_id = m."projectId" and e.id = m.id
    join contents c on c.project_id = e.project_id and c.id = e.content_id
    order by 1, e.to_address -- consistent lock order: avoids deadlocks
  `
  for (const email of affected) {
    const isTooMany = await countSoftBounce(tx, { ...email, emailId: email.id })
    if (isTooMany === undefined) continue
    if (hasEvents(email)) await recordEvents(tx, [eventOf(email, 'email.bounce', first.get(email.id)!.feedback)])
    if (isTooMany) await suppressRecipients(tx, 'bounce', [email])
  }
}

/** A test email has no events. But an address that bounces or complains is suppressed whatever it was sent. */
const hasEvents = ({ test }: AffectedEmail) => !test

/** The reported time, which may be days ago; but not before the email existed, nor in the future. */
const EVENT_TIME = sql`greatest(e.created_at, least(now(), m.at))`

const asRows = (items: EmailFeedback[]) => {
  const rows = items.map(({ projectId, id, feedback: { at } }) => ({ projectId, id, at }))
  return sql`${recordset('emails', rows, ['projectId', 'id'], { at: 'timestamptz' })} as m`
}

/** Says the same as the join with `asRows`, whose number of rows the planner cannot know: it would read all emails for one. */
const isOneOf = (items: EmailFeedback[]) =>
  sql`(e.project_id = any(${[...new Set(items.map(({ projectId }) => projectId))]}::uuid[]) and e.id = any(${items.map(({ id }) => id)}::uuid[]))`

const eventOf = ({ projectId, id, contactId, data }: AffectedEmail, name: string, feedback: Feedback) => ({
  projectId,
  name,
  emailId: id,
  data: { ...data, ...('reason' in feedback ? { reason: feedback.reason } : {}) },
  contactId,
})
