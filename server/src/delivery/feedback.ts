import { sql } from 'kysely'
import { maybeOne, type Tx } from '../db/index.ts'
import { recordEvents } from '../events/record.ts'
import { FACTS, isoTime } from './settle.ts'
import { countSoftBounce, forgive } from './soft-bounce.ts'
import { sendNoMore } from './suppress.ts'

/** What became of a mail after it was taken. A bounce is one for good; a soft one came back for a reason that may pass. */
export type Feedback = { is: 'delivery' } | { is: 'bounce'; reason: string } | { is: 'soft-bounce'; reason: string } | { is: 'complaint' }

type Mail = { projectId: string; id: string }
type Told = { contactId: string | null; address: string; data: object }

const COLUMNS = sql`e.contact_id as "contactId", e.to_address as address`

/** Each fact counts once, in whatever order they come. Who bounced or complained gets nothing any more. */
export const recordFeedback = (tx: Tx, mail: Mail, feedback: Feedback) =>
  feedback.is === 'soft-bounce' ? recordSoftBounce(tx, mail, feedback.reason) : recordFact(tx, mail, feedback)

const TIMES = { delivery: sql.ref('delivered_at'), bounce: sql.ref('bounced_at'), complaint: sql.ref('complained_at') }
const MORE = {
  delivery: sql`jsonb_build_object('deliveredAt', ${isoTime(sql`e.delivered_at`)})`,
  bounce: sql`jsonb_build_object('bounceType', 'Permanent')`,
  complaint: sql`'{}'::jsonb`,
}

async function recordFact(tx: Tx, { projectId, id }: Mail, feedback: Exclude<Feedback, { is: 'soft-bounce' }>) {
  const time = TIMES[feedback.is]
  const told = await maybeOne(
    tx,
    sql<Told>`
      update emails e set ${time} = now(), updated_at = now()
      from contents c
      where e.project_id = ${projectId} and e.id = ${id} and e.${time} is null and c.project_id = e.project_id and c.id = e.content_id
      returning ${COLUMNS}, ${FACTS} || ${MORE[feedback.is]} as data
    `,
  )
  if (!told) return
  const reason = feedback.is === 'bounce' ? { reason: feedback.reason } : {}
  await tell(tx, { projectId, id }, `email.${feedback.is}`, { ...told, data: { ...told.data, ...reason } })
  if (feedback.is === 'delivery') await forgive(tx, projectId, told.address)
  else await sendNoMore(tx, { projectId, emailId: id, ...told, by: feedback.is })
}

async function recordSoftBounce(tx: Tx, { projectId, id }: Mail, reason: string) {
  const told = await maybeOne(
    tx,
    sql<Told>`
      select ${COLUMNS}, ${FACTS} as data
      from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
      where e.project_id = ${projectId} and e.id = ${id}
    `,
  )
  const tooMany = told && (await countSoftBounce(tx, { projectId, emailId: id, address: told.address }))
  if (!told || tooMany === undefined) return
  await tell(tx, { projectId, id }, 'email.bounce', { ...told, data: { ...told.data, bounceType: 'Transient', reason } })
  if (tooMany) await sendNoMore(tx, { projectId, emailId: id, ...told, by: 'bounce' })
}

const tell = (tx: Tx, { projectId, id }: Mail, name: string, { contactId, data }: Told) =>
  recordEvents(tx, [{ projectId, name, emailId: id, data, ...(contactId ? { contactId } : {}) }])
