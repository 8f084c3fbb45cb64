import { sql } from 'kysely'
import { many, type Tx } from '../db/index.ts'
import { countHits, type HitCount, type HitMail, lockHitMails } from '../delivery/feedback/count-opens-clicks.ts'
import type { OpenedEmail } from '../delivery/message/tracking-token.ts'
import { type NewEvent, recordEvents } from '../events/record.ts'
import { type Hit, type Judged, judgeHit, type Seen, seenOf } from './judge.ts'
import { SUSPECT_MS } from './rules.ts'

/** Hits of one mail, in the time of a clock of this process. */
export type Collected = OpenedEmail & { hits: Hit[] }

/** Of one mail. What comes after still counts, without an event of its own. */
const MAX_EVENTS = 100
const MAX_MACHINE_EVENTS = 50
const MAX_RECENT = 100

type Memory = OpenedEmail & { events: number; machineEvents: number; recent: Seen[] }

/** Decides who made these hits, and writes down what follows from it, for many mails at once. `clock`: what their clock says now. */
export async function recordHits(tx: Tx, collected: Collected[], clock: number) {
  const mails = await lockHitMails(tx, collected)
  const memories = new Map((await recall(tx, mails)).map((memory) => [memory.emailId, memory]))
  const hitsOf = new Map<string, Hit[]>()
  for (const { emailId, hits } of collected) hitsOf.set(emailId, [...(hitsOf.get(emailId) ?? []), ...hits])
  const results = mails.map((mail) => {
    // From here on everything is in the time of the database, which says when the mail left.
    const toDatabaseTime = mail.now.getTime() - clock
    const hits = hitsOf.get(mail.id)!.map((hit) => ({ ...hit, at: hit.at + toDatabaseTime }))
    return settle(mail, hits, memories.get(mail.id))
  })
  await countHits(
    tx,
    results.map(({ count }) => count).filter(({ opens, clicks }) => opens + clicks > 0),
  )
  await remember(
    tx,
    results.map(({ memory }) => memory),
  )
  await recordEvents(
    tx,
    results.flatMap(({ events }) => events),
  )
}

function settle(mail: HitMail, unsorted: Hit[], known: Memory | undefined) {
  const { projectId, id } = mail
  const { events: written = 0, machineEvents = 0, recent = [] } = known ?? {}
  const sorted = unsorted.sort((a, b) => a.at - b.at)
  const fresh = judgeHit(sorted, { recent, leftAt: mail.leftAt.getTime() }).filter(({ isRepeat }) => !isRepeat)
  const told = fresh.filter(({ kind }) => kind !== 'trap')
  const people = told.filter((hit) => !isMachine(hit))
  const count = countOf(mail, people)
  const events: NewEvent[] = []
  let { opens, clicks } = mail
  const left = { people: MAX_EVENTS - written, machines: MAX_MACHINE_EVENTS - machineEvents }
  for (const hit of told) {
    if (!isMachine(hit)) hit.kind === 'open' ? opens++ : clicks++
    if ((isMachine(hit) ? left.machines-- : left.people--) > 0) events.push(eventOf(mail, hit, { opens, clicks }))
  }
  const memory: Memory = {
    projectId,
    emailId: id,
    events: Math.min(MAX_EVENTS, written + people.length),
    machineEvents: Math.min(MAX_MACHINE_EVENTS, machineEvents + told.length - people.length),
    recent: [...recent, ...fresh.map(seenOf)].filter(({ at }) => at > mail.now.getTime() - SUSPECT_MS).slice(-MAX_RECENT),
  }
  return { count, events, memory }
}

const isMachine = ({ opinion }: Judged) => opinion.by === 'machine'

function countOf({ projectId, id }: HitMail, people: Judged[]): HitCount {
  const opens = people.filter(({ kind }) => kind === 'open')
  const clicks = people.filter(({ kind }) => kind === 'click')
  return { projectId, id, opens: opens.length, clicks: clicks.length, openedAt: timeOf(opens[0]), clickedAt: timeOf(clicks[0]) }
}

const timeOf = (hit: Judged | undefined) => (hit ? new Date(hit.at).toISOString() : null)

type Counts = { opens: number; clicks: number }

function eventOf({ projectId, id, contactId, data }: HitMail, hit: Judged, { opens, clicks }: Counts): NewEvent {
  const machine = isMachine(hit)
  const what =
    hit.kind === 'open'
      ? { opens, isFirstOpen: !machine && opens === 1 }
      : { link: hit.target, clicks, isFirstClick: !machine && clicks === 1 }
  return {
    projectId,
    name: `email.${hit.kind}`,
    emailId: id,
    data: { ...data, ...what, machine, ...hit.opinion },
    ...(contactId ? { contactId } : {}),
  }
}

const recall = (tx: Tx, mails: HitMail[]) =>
  many(
    tx,
    sql<Memory>`
      select project_id as "projectId", email_id as "emailId", events, machine_events as "machineEvents", recent
      from email_hits
      where (project_id, email_id) in (
        select "projectId", id from jsonb_to_recordset(${JSON.stringify(mails.map(({ projectId, id }) => ({ projectId, id })))}::jsonb)
          as m("projectId" uuid, id uuid))
    `,
  )

/** Only who has locked the mail comes here. */
async function remember(tx: Tx, memories: Memory[]) {
  if (!memories.length) return
  await sql`
    insert into email_hits (project_id, email_id, events, machine_events, recent)
    select "projectId", "emailId", events, "machineEvents", recent
    from jsonb_to_recordset(${JSON.stringify(memories)}::jsonb) as m(
      "projectId" uuid, "emailId" uuid, events int, "machineEvents" int, recent jsonb)
    on conflict (project_id, email_id) do update set
      events = excluded.events, machine_events = excluded.machine_events, recent = excluded.recent
  `.execute(tx)
}
