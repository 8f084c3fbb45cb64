import { sql } from 'kysely'
import { many, maybeOne, maybeScalar, type Pool, type Tx, transact } from '../../db/index.ts'
import { listenForNotifications } from '../../db/notifications.ts'
import { isWiped } from '../../ledger/ledger-sql.ts'
import { inTurnSql } from '../../ledger/owner-sql.ts'
import { type LoopDeps, type LoopOutcome, startProjectLoop } from '../../ledger/project-loop.ts'
import { skipScanCte } from '../../ledger/skip-scan.ts'
import { backoffSql } from '../../lib/concurrency/backoff.ts'
import type { WaitingWork } from '../../lib/fair/work-slots.ts'
import { createRareWarning } from '../../lib/process/rare-warning.ts'
import { HOUR, SECOND } from '../../lib/text/units.ts'
import { runsSince } from '../../nodes/sending-hold.ts'
import { advanceExecutions, claimExecutions } from './advance.ts'
import { failExecution } from './cancel.ts'
import { EXECUTIONS_CHANNEL } from './enrol.ts'

type Deps = LoopDeps & { db: Pool; url: string; timeoutAfterMs?: number | undefined }

/** Projects that one process works on at a time, besides one of an owner that has none of them. */
const LANES = 2
/** Executions of one project before it is the next project's turn. */
const BATCH = 100
/** Poll interval: a lost notification costs this much, and so does an execution that comes due. */
const POLL_MS = 200
/** Failed attempts after which an execution ends: more than an hour after the first one, so that an outage ends none. */
const MAX_ATTEMPTS = 12
const REST_MS = { first: SECOND, longest: HOUR }

/** Advances executions that are due, project by project. Any number of processes may run it. */
export function startWorkflowEngine({ db, url, log, isHeld, timeoutAfterMs, isDue }: Deps) {
  const warn = createRareWarning(log)
  let stopped = false

  async function visitProject(projectId: string): Promise<LoopOutcome> {
    let ids: string[] = []
    try {
      await transact(db, async (tx) => {
        const claimed = await claimExecutions(tx, projectId, BATCH)
        ids = claimed.map(({ id }) => id)
        await advanceExecutions(tx, projectId, claimed, timeoutAfterMs)
      })
      if (!ids.length) return 'locked'
      return ids.length === BATCH ? 'more' : 'done'
    } catch (err) {
      if (!ids.length) throw err
      warn({ err, projectId }, 'could not advance executions together; trying one by one')
      await advanceOneByOne(projectId, ids)
      return 'done'
    }
  }

  /** An execution that fails alone is tried again later, and ends after some attempts; it does not hold up the others. */
  async function advanceOneByOne(projectId: string, ids: string[]) {
    for (const id of ids) {
      if (stopped) return
      try {
        await transact(db, async (tx) => advanceExecutions(tx, projectId, await claimExecutions(tx, projectId, 1, id), timeoutAfterMs))
      } catch (err) {
        warn({ err, projectId, executionId: id }, 'could not advance an execution; it is tried again later')
        await transact(db, (tx) => postponeExecution(tx, projectId, id))
      }
    }
  }

  const loop = startProjectLoop({
    name: 'advance executions',
    log,
    isHeld,
    pollMs: POLL_MS,
    isDue,
    slots: LANES,
    find: (except) => findDueProjects(db, except),
    work: ({ projectId }) => visitProject(projectId),
  })
  const notifications = listenForNotifications({ url, channel: EXECUTIONS_CHANNEL, onNotified: () => loop.wake(), log })
  return {
    /** Stops claiming, and waits for the batches in progress. */
    async stop() {
      stopped = true
      await Promise.all([loop.stop(), notifications.stop()])
    },
  }
}

/** One look at an index, however many executions sleep. */
const ANY_DUE = sql`select from workflow_executions where due_at <= now() and webhook_host is null order by due_at limit 1`

/** Projects with executions that are due. */
async function findDueProjects(db: Pool, except: string[]): Promise<WaitingWork[]> {
  if (!(await maybeOne(db, ANY_DUE))) return []
  return many(db, dueProjectsSql(except))
}

/** By the earliest execution of each project. Those of a disabled project wait. */
const dueProjectsSql = (except: string[]) => sql<WaitingWork>`
  with recursive ${skipScanCte('pending', {
    table: 'workflow_executions',
    by: ['project_id'],
    columns: [sql`due_at`],
    order: ['project_id', 'due_at'],
    where: sql`due_at is not null and webhook_host is null and ${runsSince(sql`created_at`)}`,
  })}
  select project_id as "projectId", project_id as key, owner from (${inTurnSql(sql`
    select d.project_id, d.due_at from pending d join projects p on p.id = d.project_id
    where d.due_at <= now() and d.project_id <> all(${except}::uuid[]) and not p.disabled and p.deleted_at is null
      and not ${isWiped(sql`d.project_id`)}
  `)}) as found
`

/** The last attempt ends it, so that no execution stays in limbo. */
async function postponeExecution(tx: Tx, projectId: string, id: string) {
  const attempts = await maybeScalar<number>(tx)`
    update workflow_executions set attempts = attempts + 1, due_at = now() + ${backoffSql(sql`attempts`, REST_MS)}, updated_at = now()
    where project_id = ${projectId} and id = ${id} and due_at <= now()
    returning attempts
  `
  if (attempts !== undefined && attempts >= MAX_ATTEMPTS) await failExecution(tx, projectId, { id, reason: 'internal_error' })
}
