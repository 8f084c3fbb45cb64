import { sql } from 'kysely'
import { columns, type RowOf } from '../db/columns.ts'
import { many, type Tx } from '../db/index.ts'
import { insertRows, recordset } from '../db/rows.ts'
import {
  countFirsts,
  countOpensAndClicks,
  lockTrackedEmails,
  type OpenClickCount,
  type TrackedEmail,
} from '../delivery/feedback/count-opens-clicks.ts'
import type { OpenedEmail } from '../delivery/message/links/tracking-token.ts'
import { type NewEvent, recordEvents } from '../events/record.ts'
import { type Interaction, type JudgedInteraction, judgeInteractions, type RecentInteraction, toRecent } from './judge.ts'
import { SUSPECT_MS } from './rules.ts'

/** Interactions with one email, timed by a clock of this process. */
export type CollectedInteractions = OpenedEmail & { interactions: Interaction[] }

/** Events per email. Later opens and clicks are still counted, without an event. */
const MAX_EVENTS = 100
const MAX_MACHINE_EVENTS = 50
const MAX_RECENT = 100

/** Counted when it happens to an email for the first time. */
const FIRSTS = ['opened', 'clicked', 'machineOpened', 'machineClicked'] as const

const MEMORY_COLUMNS = [
  ...(['projectId', 'emailId', 'events', 'machineEvents', 'recent'] as const),
  ...(['machineOpened', 'machineClicked', 'machineOpenedAt', 'machineClickedAt'] as const),
]
const MEMORY = columns('email_hits', '', MEMORY_COLUMNS)
/** The times are those of the first one; new ones are text. */
type Memory = Omit<RowOf<typeof MEMORY>, 'machineOpenedAt' | 'machineClickedAt' | 'recent'> & {
  machineOpenedAt: Date | string | null
  machineClickedAt: Date | string | null
  recent: RecentInteraction[]
}

/** Judges interactions with many emails at once, and writes counts and events. `clock`: the current time of the clock they were timed by. */
export async function recordOpensAndClicks(tx: Tx, collected: CollectedInteractions[], clock: number) {
  const emails = await lockTrackedEmails(tx, collected)
  const memories = new Map((await readMemories(tx, emails)).map((memory) => [memory.emailId, memory]))
  const byEmail = new Map<string, Interaction[]>()
  for (const { emailId, interactions } of collected) byEmail.set(emailId, [...(byEmail.get(emailId) ?? []), ...interactions])
  const results = emails.map((email) => {
    // From here on all times are those of the database, like the time at which the email left.
    const toDatabaseTime = email.now.getTime() - clock
    const interactions = byEmail.get(email.id)!.map((each) => ({ ...each, at: each.at + toDatabaseTime }))
    return evaluate(email, interactions, memories.get(email.id))
  })
  const counts = results.map(({ count }) => count).filter(({ opens, clicks }) => opens + clicks > 0)
  const newMemories = results.map(({ memory }) => memory)
  const events = results.flatMap((result) => result.events)
  await countOpensAndClicks(tx, counts)
  await countFirsts(tx, results)
  await writeMemories(tx, newMemories)
  await recordEvents(tx, events)
}

function evaluate(email: TrackedEmail, interactions: Interaction[], memory: Memory | undefined) {
  const { projectId, id } = email
  const { events: written = 0, machineEvents = 0, machineOpened = false, machineClicked = false, recent = [] } = memory ?? {}
  const { machineOpenedAt = null, machineClickedAt = null } = memory ?? {}
  const sorted = interactions.sort((a, b) => a.at - b.at)
  const counted = judgeInteractions(sorted, { recent, leftAt: email.leftAt.getTime() }).filter(({ isRepeat }) => !isRepeat)
  const opensAndClicks = counted.filter(({ kind }) => kind !== 'trap')
  const byPeople = opensAndClicks.filter((each) => !isMachine(each))
  const byMachines = opensAndClicks.filter(isMachine)
  const newMemory: Memory = {
    projectId,
    emailId: id,
    events: Math.min(MAX_EVENTS, written + byPeople.length),
    machineEvents: Math.min(MAX_MACHINE_EVENTS, machineEvents + byMachines.length),
    machineOpened: machineOpened || byMachines.some(({ kind }) => kind === 'open'),
    machineClicked: machineClicked || byMachines.some(({ kind }) => kind === 'click'),
    machineOpenedAt: machineOpened ? machineOpenedAt : timeOf(byMachines.find(({ kind }) => kind === 'open')),
    machineClickedAt: machineClicked ? machineClickedAt : timeOf(byMachines.find(({ kind }) => kind === 'click')),
    recent: [...recent, ...counted.map(toRecent)].filter(({ at }) => at > email.now.getTime() - SUSPECT_MS).slice(-MAX_RECENT),
  }
  const left = { people: MAX_EVENTS - written, machines: MAX_MACHINE_EVENTS - machineEvents }
  const count = countOf(email, byPeople)
  const isFirst = {
    // A click also opens an email, as in `countOpensAndClicks`.
    opened: !email.isOpened && count.opens + count.clicks > 0,
    clicked: !email.isClicked && count.clicks > 0,
    machineOpened: !machineOpened && newMemory.machineOpened,
    machineClicked: !machineClicked && newMemory.machineClicked,
  }
  const kinds = FIRSTS.filter((kind) => isFirst[kind])
  return { email, count, kinds, events: eventsOf(email, opensAndClicks, left), memory: newMemory }
}

const isMachine = ({ classification }: JudgedInteraction) => classification.by === 'machine'

function countOf({ projectId, id }: TrackedEmail, byPeople: JudgedInteraction[]): OpenClickCount {
  const opens = byPeople.filter(({ kind }) => kind === 'open')
  const clicks = byPeople.filter(({ kind }) => kind === 'click')
  return { projectId, id, opens: opens.length, clicks: clicks.length, openedAt: timeOf(opens[0]), clickedAt: timeOf(clicks[0]) }
}

const timeOf = (interaction: JudgedInteraction | undefined) => (interaction ? new Date(interaction.at).toISOString() : null)

/** Each event has the counts as of its own open or click. `left`: the number of events the email may still get. */
function eventsOf(email: TrackedEmail, opensAndClicks: JudgedInteraction[], left: { people: number; machines: number }) {
  const events: NewEvent[] = []
  let { opens, clicks } = email
  for (const each of opensAndClicks) {
    if (!isMachine(each)) each.kind === 'open' ? opens++ : clicks++
    if ((isMachine(each) ? left.machines-- : left.people--) > 0) events.push(eventOf(email, each, { opens, clicks }))
  }
  return events
}

type Counted = Pick<TrackedEmail, 'opens' | 'clicks'>

function eventOf({ projectId, id, contactId, data }: TrackedEmail, interaction: JudgedInteraction, { opens, clicks }: Counted): NewEvent {
  const { kind, target, classification } = interaction
  const machine = isMachine(interaction)
  const details =
    kind === 'open' ? { opens, isFirstOpen: !machine && opens === 1 } : { link: target, clicks, isFirstClick: !machine && clicks === 1 }
  return { projectId, name: `email.${kind}`, emailId: id, contactId, data: { ...data, ...details, machine, ...classification } }
}

const readMemories = (tx: Tx, emails: TrackedEmail[]) =>
  many<Memory>(tx)`
    select ${MEMORY} from email_hits
    where (project_id, email_id) in (
      select "projectId", id from ${recordset(
        'emails',
        emails.map(({ projectId, id }) => ({ projectId, id })),
        ['projectId', 'id'],
      )} as m)
  `

/** The caller holds the locks of the emails. */
async function writeMemories(tx: Tx, memories: Memory[]) {
  if (!memories.length) return
  await sql`
    ${insertRows('email_hits', memories, MEMORY_COLUMNS)}
    on conflict (project_id, email_id) do update set
      events = excluded.events, machine_events = excluded.machine_events, machine_opened = excluded.machine_opened,
      machine_clicked = excluded.machine_clicked,
      machine_opened_at = excluded.machine_opened_at, machine_clicked_at = excluded.machine_clicked_at, recent = excluded.recent
  `.execute(tx)
}
