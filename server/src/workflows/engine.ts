import { sql } from 'kysely'
import { maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { listenForNotifications } from '../db/notifications.ts'
import { NIL_ID } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { createRareWarning } from '../lib/rare-warning.ts'
import { createWakeSignal } from '../lib/wake-signal.ts'
import { advanceExecutions, claimExecutions } from './advance.ts'
import { failExecution } from './cancel.ts'
import { EXECUTIONS_CHANNEL } from './enrol.ts'
import { isBeingWiped } from './wiped.ts'

type Deps = { db: Pool; url: string; log: Log; isHeld: () => boolean; timeoutAfterMs?: number | undefined }

/** Projects that one process works on at a time. */
const LANES = 2
/** Executions of one project before it is the next project's turn. */
const BATCH = 100
/** Poll interval: a lost notification costs this much, and so does an execution that comes due. */
const POLL_MS = 200
/** Rest of a project after a failure. */
const REST_MS = 1_000
/** Failed attempts after which an execution ends: more than an hour after the first one, so that an outage ends none. */
const MAX_ATTEMPTS = 12

/** Advances executions that are due, project by project. Any number of processes may run it. */
export function startWorkflowEngine({ db, url, log, isHeld, timeoutAfterMs }: Deps) {
  const signal = createWakeSignal()
  const warn = createRareWarning(log)
  const visits = new Map<string, Promise<void>>()
  const resting = new Map<string, number>()
  let after = NIL_ID
  let stopped = false

  async function run() {
    while (!stopped) {
      const projectId = isHeld() && visits.size < LANES ? await findNext() : undefined
      if (projectId) startVisit(projectId)
      else await signal.wait(POLL_MS)
    }
  }

  /** Rotates: the search starts after the project that was found last. */
  async function findNext() {
    for (const [projectId, until] of resting) if (until <= performance.now()) resting.delete(projectId)
    const except = [...visits.keys(), ...resting.keys()]
    try {
      if (!(await maybeOne(db, ANY_DUE))) return undefined
      const found =
        (await maybeOne(db, dueExecutionsSql({ after, except }))) ?? (await maybeOne(db, dueExecutionsSql({ after: NIL_ID, except })))
      if (found) after = found.projectId
      return found?.projectId
    } catch (err) {
      warn({ err }, 'could not look for executions that are due; retrying')
      return undefined
    }
  }

  function startVisit(projectId: string) {
    const visit = visitProject(projectId)
      .catch((err) => {
        resting.set(projectId, performance.now() + REST_MS)
        warn({ err, projectId }, 'could not advance the executions of a project; retrying')
      })
      .finally(() => {
        visits.delete(projectId)
        signal.wake()
      })
    visits.set(projectId, visit)
  }

  async function visitProject(projectId: string) {
    let ids: string[] = []
    try {
      const isEmpty = await transact(db, async (tx) => {
        const claimed = await claimExecutions(tx, projectId, BATCH)
        ids = claimed.map(({ id }) => id)
        await advanceExecutions(tx, projectId, claimed, timeoutAfterMs)
        return !claimed.length
      })
      // Another process has them all.
      if (isEmpty) resting.set(projectId, performance.now() + POLL_MS)
    } catch (err) {
      if (!ids.length) throw err
      warn({ err, projectId }, 'could not advance executions together; trying one by one')
      await advanceOneByOne(projectId, ids)
    }
  }

  /** An execution that fails alone is tried again later, and ends after some attempts; it does not hold up the others. */
  async function advanceOneByOne(projectId: string, ids: string[]) {
    for (const id of ids) {
      if (stopped) return
      try {
        await transact(db, async (tx) => advanceExecutions(tx, projectId, await claimExecutions(tx, projectId, 1, id), timeoutAfterMs))
      } catch (err) {
        warn({ err, projectId, execution: id }, 'could not advance an execution; it is tried again later')
        await transact(db, (tx) => postponeExecution(tx, projectId, id))
      }
    }
  }

  const notifications = listenForNotifications({ url, channel: EXECUTIONS_CHANNEL, onNotified: () => signal.wake(), log })
  const running = run()
  return {
    /** Claims no more, and waits for the batches under way. */
    async stop() {
      stopped = true
      signal.wake()
      await running
      await Promise.all([...visits.values(), notifications.stop()])
    },
  }
}

/** One look at an index, however many executions sleep. */
const ANY_DUE = sql`select from workflow_executions where due_at <= now() and webhook_host is null order by due_at limit 1`

type Search = { after: string; except: string[] }

/** A skip scan: reads the earliest execution of each project. Those of a disabled project wait. */
const dueExecutionsSql = ({ after, except }: Search) => sql<{ projectId: string }>`
  with recursive pending as (
    (select project_id, due_at from workflow_executions
      where due_at is not null and webhook_host is null and project_id > ${after} order by project_id, due_at limit 1)
    union all
    select next.project_id, next.due_at from pending cross join lateral (
      select e.project_id, e.due_at from workflow_executions e
      where e.due_at is not null and e.webhook_host is null and e.project_id > pending.project_id order by e.project_id, e.due_at limit 1
    ) as next
  )
  select d.project_id as "projectId" from pending d join projects p on p.id = d.project_id
  where d.due_at <= now() and d.project_id <> all(${except}::uuid[]) and not p.disabled and p.deleted_at is null
    and not ${isBeingWiped(sql`d.project_id`)}
  limit 1
`

/** After 1 s, 2 s, 4 s, … The last attempt ends it, so that no execution stays in limbo. */
async function postponeExecution(tx: Tx, projectId: string, id: string) {
  const postponed = await maybeOne(
    tx,
    sql<{ attempts: number }>`
      update workflow_executions set attempts = attempts + 1, due_at = now() + make_interval(secs => power(2, attempts)), updated_at = now()
      where project_id = ${projectId} and id = ${id} and due_at <= now()
      returning attempts
    `,
  )
  if (postponed && postponed.attempts >= MAX_ATTEMPTS) await failExecution(tx, projectId, { id, reason: 'internal_error' })
}
