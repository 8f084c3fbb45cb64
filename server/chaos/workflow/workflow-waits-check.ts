import { sql } from 'kysely'
import { many, type Tx } from '../../src/db/index.ts'
import { groupBy } from '../../src/lib/collections/group-by.ts'
import { TIMEOUT_AFTER_MS } from '../nodes/timeout-after.ts'
import type { Check } from '../support/check.ts'
import type { ChaosWorkflow } from './workflow.ts'

/** `acknowledged`: when clients knew of an event, in milliseconds. */
type Known = {
  projectId: string
  workflow: ChaosWorkflow
  answer: string
  acknowledged: ReadonlyMap<string, number>
  waitSeconds: number
}

/** Times are in microseconds. */
type Event = { id: string; contactId: string; at: number }
type Visit = {
  executionId: string
  contactId: string
  startId: string
  startAt: number
  name: string
  eventId: string | null
  scheduledFor: number | null
  completedAt: number
}
type Position = { at: number; id: string }

const MILLI = 1_000

/**
 * Compares each wait with what follows from the stored events alone: the first event after the arrival and before the deadline ends it,
 * whatever was killed or frozen then. An event counts for sure if a client knew of it before the worker looked.
 */
export const checkWaitsByModel =
  (known: Known): Check =>
  async (tx) => {
    const events = groupBy(await readAnswers(tx, known), ({ contactId }) => contactId)
    const wrong: Record<string, string[]> = { [DEADLINE]: [], [EARLY]: [], [NOT_FIRST]: [], [OUTSIDE]: [] }
    for (const [executionId, visits] of groupBy(await readVisits(tx, known), (visit) => visit.executionId)) {
      let position: Position = { at: visits[0]!.startAt, id: visits[0]!.startId }
      for (const visit of visits) {
        if (visit.name === 'delay') position = { at: visit.scheduledFor!, id: '' }
        if (visit.name !== 'wait' && visit.name !== 'second') continue
        const { broken, after } = judgeWait(visit, position, events.get(visit.contactId) ?? [], known)
        for (const rule of broken) wrong[rule]!.push(`${executionId} ${JSON.stringify({ visit, position })}`)
        position = after
      }
    }
    return Object.entries(wrong).map(([rule, cases]) => ({ rule, cases }))
  }

const DEADLINE = 'a wait whose deadline is not its arrival and the timeout'
const EARLY = 'a timeout that was taken too soon after the deadline'
const NOT_FIRST = 'a wait that an earlier event should have ended'
const OUTSIDE = 'a wait that was ended by an event before its arrival, or after its deadline'

const isAfter = (event: Event, { at, id }: Position) => event.at > at || (event.at === at && event.id > id)

function judgeWait(
  { eventId, scheduledFor, completedAt }: Visit,
  position: Position,
  events: Event[],
  { acknowledged, waitSeconds }: Known,
) {
  const broken: string[] = []
  // Deadlines are whole milliseconds.
  const deadline = Math.floor(position.at / MILLI) * MILLI + waitSeconds * 1_000 * MILLI
  const inTime = events.filter((event) => isAfter(event, position) && event.at < deadline)
  const ended = inTime.find(({ id }) => id === eventId)
  const earlier = ended ? inTime.filter((event) => isAfter(ended, event)) : inTime
  const isSure = ({ id }: Event) => (acknowledged.get(id) ?? Number.POSITIVE_INFINITY) * MILLI <= completedAt
  if (scheduledFor !== deadline) broken.push(DEADLINE)
  if (eventId && !ended) broken.push(OUTSIDE)
  if (earlier.some(isSure)) broken.push(NOT_FIRST)
  if (!eventId && completedAt < deadline + TIMEOUT_AFTER_MS * MILLI) broken.push(EARLY)
  return { broken, after: ended ?? { at: deadline, id: '' } }
}

const micros = (column: string) => sql`(extract(epoch from ${sql.ref(column)}) * 1000000)::float8`

const readAnswers = (tx: Tx, { projectId, answer }: Known) =>
  many(
    tx,
    sql<Event>`
      select id, contact_id as "contactId", ${micros('created_at')} as at from events
      where project_id = ${projectId} and name = ${answer} order by created_at, id
    `,
  )

const readVisits = (tx: Tx, { projectId, workflow }: Known) =>
  many(
    tx,
    sql<Visit>`
      select e.id as "executionId", e.contact_id as "contactId", v.id as "startId", ${micros('v.created_at')} as "startAt", n.name,
        s.output -> 'event' ->> 'id' as "eventId", ${micros('s.scheduled_for')} as "scheduledFor", ${micros('s.completed_at')} as "completedAt"
      from workflow_executions e
      join events v on v.project_id = e.project_id and v.id = e.source_event_id
      join workflow_step_executions s on s.project_id = e.project_id and s.execution_id = e.id and s.completed_at is not null
      join jsonb_each_text(${JSON.stringify(workflow.steps)}::jsonb) as n(name, id) on n.id = s.step_id::text
      where e.project_id = ${projectId} order by e.id, s.visit
    `,
  )
