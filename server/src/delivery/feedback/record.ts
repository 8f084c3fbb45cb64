import { sql } from 'kysely'
import { many, prepared, type Tx } from '../../db/index.ts'
import { recordEvents } from '../../events/record.ts'
import { groupBy } from '../../lib/group-by.ts'
import { CONTACT } from '../outbox/contact-id.ts'
import { FACTS, isoTime } from '../outbox/settle.ts'
import type { Feedback } from '../transport/transport.ts'
import { clearSoftBounces, countSoftBounce } from './soft-bounce.ts'
import { suppressRecipients } from './suppress.ts'

type Mail = { projectId: string; id: string }
type Item = Mail & { feedback: Feedback }
type AffectedEmail = Mail & { contactId: string | null; address: string; data: object; at: Date }

/** Each fact counts once, in whatever order they come. Who bounced or complained gets nothing any more. */
export const recordFeedback = (tx: Tx, { projectId, id }: Mail, feedback: Feedback) => recordFeedbacks(tx, [{ projectId, id, feedback }])

/** The same for any number of mails: a few statements for all of them. */
export async function recordFeedbacks(tx: Tx, items: Item[]) {
  for (const [kind, ofKind] of groupBy(items, ({ feedback }) => feedback.is)) {
    if (kind === 'soft-bounce') await recordSoftBounces(tx, ofKind)
    else await recordFacts(tx, kind, ofKind)
  }
}

const TIMES = { delivery: sql.ref('delivered_at'), bounce: sql.ref('bounced_at'), complaint: sql.ref('complained_at') }
const EXTRA_DATA = {
  delivery: sql`jsonb_build_object('deliveredAt', ${isoTime(sql`e.delivered_at`)})`,
  bounce: sql`jsonb_build_object('bounceType', 'Permanent')`,
  complaint: sql`'{}'::jsonb`,
}

async function recordFacts(tx: Tx, kind: keyof typeof TIMES, items: Item[]) {
  const time = TIMES[kind]
  const first = new Map(items.toReversed().map((item) => [item.id, item]))
  const news = await many(
    tx,
    sql<AffectedEmail>`${prepared}
      update emails e set ${time} = ${EVENT_TIME}, vars = case when ${kind !== 'bounce'} then e.vars end, updated_at = now()
      from ${asRows(first.values())}, contents c
      where e.project_id = m."projectId" and e.id = m.id and e.${time} is null and c.project_id = e.project_id and c.id = e.content_id
      returning e.project_id as "projectId", e.id, ${CONTACT} as "contactId", e.to_address as address, ${EVENT_TIME} as at,
        ${FACTS} || ${EXTRA_DATA[kind]} as data
    `,
  )
  await recordEvents(
    tx,
    news.map((mail) => eventOf(mail, `email.${kind}`, first.get(mail.id)!.feedback)),
  )
  if (kind === 'delivery') await clearSoftBounces(tx, news)
  else await suppressRecipients(tx, kind, news)
}

/** One by one: they are few, and whether one is too many depends on those before it. */
async function recordSoftBounces(tx: Tx, items: Item[]) {
  const first = new Map(items.toReversed().map((item) => [item.id, item]))
  const told = await many(
    tx,
    sql<AffectedEmail>`
      select e.project_id as "projectId", e.id, ${CONTACT} as "contactId", e.to_address as address, ${EVENT_TIME} as at,
        ${FACTS} || jsonb_build_object('bounceType', 'Transient') as data
      from ${asRows(first.values())}
      join emails e on e.project_id = m."projectId" and e.id = m.id
      join contents c on c.project_id = e.project_id and c.id = e.content_id
      order by 1, e.to_address -- as everybody does, so that nobody waits in a circle
    `,
  )
  for (const mail of told) {
    const tooMany = await countSoftBounce(tx, { ...mail, emailId: mail.id })
    if (tooMany === undefined) continue
    await recordEvents(tx, [eventOf(mail, 'email.bounce', first.get(mail.id)!.feedback)])
    if (tooMany) await suppressRecipients(tx, 'bounce', [mail])
  }
}

/** As it was told, which may be days later; but not before there was a mail, nor after now. */
const EVENT_TIME = sql`greatest(e.created_at, least(now(), m.at))`

const asRows = (items: Iterable<Item>) => {
  const rows = [...items].map(({ projectId, id, feedback: { at } }) => ({ projectId, id, at }))
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as m("projectId" uuid, id uuid, at timestamptz)`
}

const eventOf = ({ projectId, id, contactId, data }: AffectedEmail, name: string, feedback: Feedback) => ({
  projectId,
  name,
  emailId: id,
  data: { ...data, ...('reason' in feedback ? { reason: feedback.reason } : {}) },
  ...(contactId ? { contactId } : {}),
})
