import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { isStatementTimeout } from '../../db/errors/sql-state.ts'
import { countAffected, type Db, many, maybeOne, maybeScalar, type Pool, scalars, type Tx, transact } from '../../db/index.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { inTurnSql } from '../../ledger/owner-sql.ts'
import { startProjectLoop } from '../../ledger/project-loop.ts'
import type { WaitingWork } from '../../lib/fair/work-slots.ts'
import { NIL_ID, newId } from '../../lib/id.ts'
import type { Log } from '../../lib/process/log.ts'
import { findSegment, type SegmentRow } from '../../segments/definition/segment.ts'
import { segmentSql } from '../../segments/members/selection.ts'
import { lastMissedFiring, nextFiringOf } from '../definition/schedule.ts'
import { WORKFLOW_COLUMNS, type WorkflowRow } from '../definition/workflow.ts'
import { enrol, holdWorkflows } from './enrol.ts'

/** Firings are promised by the minute. */
const POLL_MS = 1_000
/** Projects that one process works on at a time, besides one of an owner that has none of them. */
const LANES = 2
/** Workflows of one project before it is the next one's turn. */
const MAX_FIRED = 50
/**
 * Contacts that one transaction looks at, whether members or not: a statement may take 5 s, and a segment may have few members. With 2,000 the
 * result of one page blocks the event loop of the worker long enough to delay other emails.
 */
const PAGE = 500
/** Fewer after a page took too long. */
const SMALLEST_PAGE = 100
const WORK_MS = 1_000

type Due = WorkflowRow & { dueAt: Date; now: Date }

/** Starts the firings of SCHEDULE triggers that are due, project by project. Any number of processes may run it. */
export const startFirings = (db: Pool, log: Log, isHeld: () => boolean) =>
  startProjectLoop({
    name: 'start scheduled workflows',
    log,
    isHeld,
    pollMs: POLL_MS,
    slots: LANES,
    find: (except) => many(db, projectsToFireSql(except)),
    work: async ({ projectId }) => ((await transact(db, (tx) => fireDue(tx, projectId))) === MAX_FIRED ? 'more' : 'done'),
  })

const projectsToFireSql = (except: string[]) => sql<WaitingWork>`
  select project_id as "projectId", project_id as key, owner from (${inTurnSql(sql`
    select w.project_id, min(w.next_firing_at) as due_at from workflows w join projects p on p.id = w.project_id
    where w.next_firing_at <= now() and not p.disabled and p.deleted_at is null and w.project_id <> all(${except}::uuid[]) group by 1
  `)}) as found`

/** Only the last of several missed times is made up for. Returns the number of workflows. */
async function fireDue(tx: Tx, projectId: string): Promise<number> {
  const due = await many<Due>(tx)`
    select ${WORKFLOW_COLUMNS}, w.next_firing_at as "dueAt", now() as now
    from workflows w join projects p on p.id = w.project_id
    where w.project_id = ${projectId} and w.next_firing_at <= now() and not p.disabled and p.deleted_at is null
    order by w.next_firing_at, w.id limit ${MAX_FIRED} for update of w skip locked
  `
  for (const workflow of due) await fire(tx, workflow)
  return due.length
}

async function fire(tx: Tx, workflow: Due) {
  const { projectId, id: workflowId, dueAt, now } = workflow
  const missed = lastMissedFiring(workflow, { due: dueAt, now })
  await sql`
    update workflows set next_firing_at = ${nextFiringOf(workflow, now) ?? null} where project_id = ${projectId} and id = ${workflowId}
  `.execute(tx)
  const running = await maybeOne(tx)`
    select from workflow_firings where project_id = ${projectId} and workflow_id = ${workflowId} and status = 'RUNNING'
  `
  const reason = missed ? (running ? 'under_way' : null) : 'too_late'
  const firingId = newId()
  await sql`
    insert into workflow_firings (project_id, id, workflow_id, fired_for, status, reason, ended_at)
    values (${projectId}, ${firingId}, ${workflowId}, ${missed ?? dueAt}, ${reason ? 'SKIPPED' : 'RUNNING'}, ${reason}, case when ${reason !== null} then now() end)
  `.execute(tx)
  if (!reason) await enqueue(tx, 'workflows.fire', { projectId, firingId })
}

type FiringKey = { projectId: string; firingId: string }
type FiringJob = FiringKey & { size?: number }

/** Enrols pages for about a second, each in one transaction with the position; a new job does the rest. */
export async function continueFiring(db: Pool, { size = PAGE, ...firing }: FiringJob) {
  try {
    for (const deadline = performance.now() + WORK_MS; ; ) {
      const startedAt = performance.now()
      if (!(await transact(db, (tx) => firePage(tx, firing, size)))) return
      // A pause as long as the page took leaves CPU time to the emails of other projects.
      await sleep(performance.now() - startedAt)
      if (performance.now() > deadline) break
    }
  } catch (err) {
    if (!isStatementTimeout(err) || size <= SMALLEST_PAGE) throw err
    return transact(db, (tx) => enqueue(tx, 'workflows.fire', { ...firing, size: Math.max(SMALLEST_PAGE, Math.floor(size / 4)) }))
  }
  return transact(db, (tx) => enqueue(tx, 'workflows.fire', { ...firing, size }))
}

/** Returns whether there may be another page. */
async function firePage(tx: Tx, { projectId, firingId }: FiringKey, size: number): Promise<boolean> {
  const firing = await maybeOne<{ workflowId: string; after: string | null }>(tx)`
    select workflow_id as "workflowId", after from workflow_firings
    where project_id = ${projectId} and id = ${firingId} and status = 'RUNNING' for update
  `
  if (!firing) return false
  const [workflow] = await holdWorkflows(tx, projectId, [firing.workflowId])
  const segmentId = workflow?.triggerType === 'SCHEDULE' ? (workflow.triggerConfig.segmentId as string) : undefined
  const segment = segmentId ? await findSegment(tx, projectId, segmentId) : undefined
  if (!workflow || !segment) {
    await endFiring(tx, { projectId, firingId, reason: segmentId ? 'segment_deleted' : 'disabled' })
    return false
  }
  const page = await readMembersPage(tx, segment, { after: firing.after ?? NIL_ID, size })
  const starts = page.contactIds.map((contactId) => ({ contactId }))
  const started = await enrol(tx, workflow, starts)
  await sql`
    update workflow_firings set after = ${page.end ?? firing.after}, enrolled = enrolled + ${started.size}
    where project_id = ${projectId} and id = ${firingId}
  `.execute(tx)
  if (!page.end) await endFiring(tx, { projectId, firingId, reason: null })
  return page.end !== undefined
}

/** With a reason if the workflow was disabled or changed meanwhile. */
const endFiring = (tx: Tx, { projectId, firingId, reason }: FiringKey & { reason: string | null }) =>
  sql`
    update workflow_firings set status = 'DONE', reason = ${reason}, ended_at = now() where project_id = ${projectId} and id = ${firingId}
  `.execute(tx)

/** `end` is the last contact of the page; undefined if it is the last page. */
async function readMembersPage(tx: Tx, segment: SegmentRow, { after, size }: { after: string; size: number }) {
  const isMember = await segmentSql(tx, segment)
  const end = await maybeScalar<string>(tx)`
    select id from contacts where project_id = ${segment.projectId} and id > ${after} order by id offset ${size - 1} limit 1
  `
  const contactIds = await scalars<string>(tx)`
    select id from contacts
    where project_id = ${segment.projectId} and id > ${after} ${end ? sql`and id <= ${end}` : sql``} and ${isMember}
    order by id
  `
  return { contactIds, end }
}

const SHOWN_FIRINGS = 20

/** The last firings of a workflow, newest first. */
export const listFirings = (db: Db, { projectId, id }: { projectId: string; id: string }) =>
  many<{ firedFor: Date; status: 'RUNNING' | 'DONE' | 'SKIPPED'; reason: string | null; enrolled: number; endedAt: Date | null }>(db)`
    select fired_for as "firedFor", status, reason, enrolled, ended_at as "endedAt" from workflow_firings
    where project_id = ${projectId} and workflow_id = ${id} order by id desc limit ${SHOWN_FIRINGS}
  `

/** Firings whose job was lost are continued. For housekeeping. */
export const resumeFirings = async (tx: Tx) => {
  const lost = await many<{ projectId: string; firingId: string }>(tx)`
    select project_id as "projectId", id as "firingId" from workflow_firings where status = 'RUNNING' and created_at < now() - interval '1 hour' limit 1000
  `
  for (const firing of lost) await enqueue(tx, 'workflows.fire', firing, { key: `workflows.fire ${firing.firingId}` })
}

const KEPT_FIRINGS_DAYS = 90

export const dropOldFirings = (tx: Tx, limit: number) =>
  countAffected(tx)`
    delete from workflow_firings where (project_id, id) in (
      select project_id, id from workflow_firings where status <> 'RUNNING' and created_at < now() - make_interval(days => ${KEPT_FIRINGS_DAYS}) limit ${limit})
  `
