import { sql } from 'kysely'
import { countAffected, many, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { every } from '../lib/every.ts'
import { NIL_ID, newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { findSegment } from '../segments/segment.ts'
import { segmentSql } from '../segments/selection.ts'
import { enrol, holdWorkflows } from './enrol.ts'
import { nextFiringOf } from './schedule.ts'
import { WORKFLOW_COLUMNS, type WorkflowRow } from './workflow.ts'

/** Firings are promised by the minute. */
const SWEEP_MS = 1_000
const MAX_FIRED = 50
/** After downtime, a firing that is older than this is not made up for. */
const MAX_LATE_MINUTES = 60
/** Contacts that one transaction looks at, members or not: a segment may have one member among a million contacts. */
const PAGE = 1_000
const WORK_MS = 1_000

type Due = WorkflowRow & { firedFor: Date; now: Date; isTooLate: boolean }

/** Starts the firings of SCHEDULE triggers that are due. Several workers share the work. */
export const startFirings = (db: Pool, log: Log, isHeld: () => boolean) =>
  every(
    SWEEP_MS,
    'start scheduled workflows',
    async () => {
      if (isHeld()) await transact(db, (tx) => fireDue(tx))
    },
    log,
  )

/** Of several missed times only the last one counts: the next time is computed from now. */
export async function fireDue(tx: Tx) {
  const due = await many(
    tx,
    sql<Due>`
      select ${WORKFLOW_COLUMNS}, w.next_firing_at as "firedFor", now() as now,
        w.next_firing_at < now() - make_interval(mins => ${MAX_LATE_MINUTES}) as "isTooLate"
      from workflows w join projects p on p.id = w.project_id
      where w.next_firing_at <= now() and not p.disabled and p.deleted_at is null
      order by w.next_firing_at limit ${MAX_FIRED} for update of w skip locked
    `,
  )
  for (const workflow of due) await fire(tx, workflow)
}

async function fire(tx: Tx, workflow: Due) {
  const { projectId, id: workflowId, firedFor, now, isTooLate } = workflow
  await sql`
    update workflows set next_firing_at = ${nextFiringOf(workflow, now) ?? null} where project_id = ${projectId} and id = ${workflowId}
  `.execute(tx)
  const running = await maybeOne(
    tx,
    sql`select from workflow_firings where project_id = ${projectId} and workflow_id = ${workflowId} and status = 'RUNNING'`,
  )
  const reason = isTooLate ? 'too_late' : running ? 'under_way' : null
  const firingId = newId()
  await sql`
    insert into workflow_firings (project_id, id, workflow_id, fired_for, status, reason, ended_at)
    values (${projectId}, ${firingId}, ${workflowId}, ${firedFor}, ${reason ? 'SKIPPED' : 'RUNNING'}, ${reason}, case when ${reason !== null} then now() end)
  `.execute(tx)
  if (!reason) await enqueue(tx, 'workflows.fire', { projectId, firingId })
}

type FiringKey = { projectId: string; firingId: string }

/** Enrols pages for about a second, each in one transaction with the position; a new job does the rest. */
export async function continueFiring(db: Pool, firing: FiringKey) {
  for (const deadline = performance.now() + WORK_MS; ; ) {
    const isLast = performance.now() > deadline
    const hasMore = await transact(db, (tx) => firePage(tx, firing, isLast))
    if (!hasMore || isLast) return
  }
}

type Firing = { workflowId: string; after: string | null; firedFor: Date }

async function firePage(tx: Tx, { projectId, firingId }: FiringKey, isLast: boolean): Promise<boolean> {
  const firing = await maybeOne(
    tx,
    sql<Firing>`
      select workflow_id as "workflowId", after, fired_for as "firedFor" from workflow_firings
      where project_id = ${projectId} and id = ${firingId} and status = 'RUNNING' for update
    `,
  )
  if (!firing) return false
  const [workflow] = await holdWorkflows(tx, projectId, [firing.workflowId])
  const segmentId = workflow?.triggerType === 'SCHEDULE' ? (workflow.triggerConfig.segmentId as string) : undefined
  const segment = segmentId ? await findSegment(tx, projectId, segmentId) : undefined
  // Disabled or changed meanwhile: the firing ends.
  const { contactIds, end } = workflow && segment ? await readMembersPage(tx, segment, firing.after ?? NIL_ID) : NO_MEMBERS
  const started = workflow
    ? await enrol(
        tx,
        workflow,
        contactIds.map((contactId) => ({ contactId })),
      )
    : new Map()
  const hasMore = end !== undefined
  await sql`
    update workflow_firings set after = ${end ?? firing.after}, enrolled = enrolled + ${started.size},
      status = ${hasMore ? 'RUNNING' : 'DONE'}, ended_at = case when ${!hasMore} then now() end
    where project_id = ${projectId} and id = ${firingId}
  `.execute(tx)
  if (hasMore && isLast) await enqueue(tx, 'workflows.fire', { projectId, firingId })
  return hasMore
}

/** `end`: the last contact of the page; undefined if the page is the last one. */
type MembersPage = { contactIds: string[]; end: string | undefined }
const NO_MEMBERS: MembersPage = { contactIds: [], end: undefined }

async function readMembersPage(tx: Tx, segment: NonNullable<Awaited<ReturnType<typeof findSegment>>>, after: string): Promise<MembersPage> {
  const { projectId } = segment
  const isMember = await segmentSql(tx, segment)
  const last = await maybeOne(
    tx,
    sql<{ id: string }>`select id from contacts where project_id = ${projectId} and id > ${after} order by id offset ${PAGE - 1} limit 1`,
  )
  const rows = await many(
    tx,
    sql<{ id: string }>`
      select id from contacts
      where project_id = ${projectId} and id > ${after} ${last ? sql`and id <= ${last.id}` : sql``} and ${isMember} order by id
    `,
  )
  return { contactIds: rows.map(({ id }) => id), end: last?.id }
}

/** Firings whose job was lost are continued. For housekeeping. */
export const resumeFirings = async (tx: Tx) => {
  const lost = await many(
    tx,
    sql<{ projectId: string; firingId: string }>`
      select project_id as "projectId", id as "firingId" from workflow_firings where status = 'RUNNING' and created_at < now() - interval '1 hour' limit 1000
    `,
  )
  for (const firing of lost) await enqueue(tx, 'workflows.fire', firing, { key: `workflows.fire ${firing.firingId}` })
}

const KEPT_FIRINGS_DAYS = 90

export const dropOldFirings = (tx: Tx, limit: number) =>
  countAffected(
    tx,
    sql`
      delete from workflow_firings where (project_id, id) in (
        select project_id, id from workflow_firings where status <> 'RUNNING' and created_at < now() - make_interval(days => ${KEPT_FIRINGS_DAYS}) limit ${limit})
    `,
  )
