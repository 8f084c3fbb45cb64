import { sql } from 'kysely'
import { setSubscription } from '../contacts/change.ts'
import { many, prepared, type Tx } from '../db/index.ts'
import { recordEvents } from '../events/record.ts'
import { groupBy } from '../lib/group.ts'
import { FACTS, isoTime } from './settle.ts'

/** What became of a mail after it was taken. A bounce is one for good, a soft one may pass. */
export type Feedback = { is: 'delivery' } | { is: 'bounce'; reason: string } | { is: 'soft-bounce'; reason: string } | { is: 'complaint' }

type Mail = { projectId: string; id: string }
type Item = Mail & { feedback: Feedback }
type Told = Mail & { contactId: string | null; address: string; data: object }

/** Each fact counts once, in whatever order they come. Who bounced or complained gets nothing any more. */
export const recordFeedback = (tx: Tx, { projectId, id }: Mail, feedback: Feedback) => recordFeedbacks(tx, [{ projectId, id, feedback }])

/** The same for any number of mails: a few statements for all of them. */
export async function recordFeedbacks(tx: Tx, items: Item[]) {
  for (const [kind, ofKind] of groupBy(items, ({ feedback }) => feedback.is)) {
    if (kind === 'soft-bounce') await tellSoftBounces(tx, ofKind)
    else await recordFacts(tx, kind, ofKind)
  }
}

const TIMES = { delivery: sql.ref('delivered_at'), bounce: sql.ref('bounced_at'), complaint: sql.ref('complained_at') }
const MORE = {
  delivery: sql`jsonb_build_object('deliveredAt', ${isoTime(sql`e.delivered_at`)})`,
  bounce: sql`jsonb_build_object('bounceType', 'Permanent')`,
  complaint: sql`'{}'::jsonb`,
}

async function recordFacts(tx: Tx, kind: keyof typeof TIMES, items: Item[]) {
  const time = TIMES[kind]
  const first = new Map(items.toReversed().map((item) => [item.id, item]))
  const news = await many(
    tx,
    sql<Told>`${prepared}
      update emails e set ${time} = now(), updated_at = now()
      from jsonb_to_recordset(${asRows(first.values())}::jsonb) as m("projectId" uuid, id uuid), contents c
      where e.project_id = m."projectId" and e.id = m.id and e.${time} is null and c.project_id = e.project_id and c.id = e.content_id
      returning e.project_id as "projectId", e.id, e.contact_id as "contactId", e.to_address as address, ${FACTS} || ${MORE[kind]} as data
    `,
  )
  await recordEvents(
    tx,
    news.map((mail) => eventOf(mail, `email.${kind}`, first.get(mail.id)!.feedback)),
  )
  if (kind !== 'delivery') await sendNoMore(tx, kind, news)
}

/** Each of them is told: there may be several before it is delivered, or not. */
async function tellSoftBounces(tx: Tx, items: Item[]) {
  const rows = items.map(({ projectId, id }, position) => ({ projectId, id, position }))
  const told = await many(
    tx,
    sql<Told & { position: number }>`
      select e.project_id as "projectId", e.id, m.position, e.contact_id as "contactId", e.to_address as address,
        ${FACTS} || jsonb_build_object('bounceType', 'Transient') as data
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as m("projectId" uuid, id uuid, position int)
      join emails e on e.project_id = m."projectId" and e.id = m.id
      join contents c on c.project_id = e.project_id and c.id = e.content_id
    `,
  )
  await recordEvents(
    tx,
    told.map((mail) => eventOf(mail, 'email.bounce', items[mail.position]!.feedback)),
  )
}

const asRows = (mails: Iterable<Mail>) => JSON.stringify([...mails].map(({ projectId, id }) => ({ projectId, id })))

const eventOf = ({ projectId, id, contactId, data }: Told, name: string, feedback: Feedback) => ({
  projectId,
  name,
  emailId: id,
  data: { ...data, ...('reason' in feedback ? { reason: feedback.reason } : {}) },
  ...(contactId ? { contactId } : {}),
})

async function sendNoMore(tx: Tx, by: 'bounce' | 'complaint', mails: Told[]) {
  if (!mails.length) return
  await sql`
    insert into suppressions (project_id, address, reason)
    select distinct "projectId", address, ${by}
    from jsonb_to_recordset(${JSON.stringify(mails)}::jsonb) as m("projectId" uuid, address text)
    order by 1, 2 -- as everybody does, so that nobody waits in a circle
    on conflict do nothing
  `.execute(tx)
  for (const [projectId, ofProject] of groupBy(mails, (mail) => mail.projectId)) {
    const mailOf = new Map(ofProject.flatMap(({ contactId, id }) => (contactId ? [[contactId, id] as const] : [])))
    const source = (contactId: string) => ({ by, details: { emailId: mailOf.get(contactId) } })
    if (mailOf.size) await setSubscription(tx, { projectId, ids: [...mailOf.keys()], subscribed: false, source })
  }
}
