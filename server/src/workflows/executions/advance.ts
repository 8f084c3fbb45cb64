import { sql } from 'kysely'
import { type Db, many, scalar, type Tx } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { exactTime } from '../../events/first-events.ts'
import { isWiped } from '../../ledger/ledger-sql.ts'
import { createCache } from '../../lib/collections/cache.ts'
import { groupBy } from '../../lib/collections/group-by.ts'
import { crash } from '../../lib/crash-point.ts'
import { MB, SECOND } from '../../lib/text/units.ts'
import { runsSince } from '../../nodes/sending-hold.ts'
import { type Graph, stepOf } from '../definition/graph.ts'
import { ALL_STEP_TYPES, decideSteps, kindOf } from '../steps/kinds.ts'
import { CONTACT_GONE, type StepBatch, type StepOutcome } from '../steps/step.ts'
import { type ActiveExecution, applyOutcomes } from './transition.ts'
import { shareAdvance } from './wiped.ts'

/** Steps that an execution takes in one transaction at most. */
const MAX_ROUNDS = 20

/** Longer than a transaction that tracks events may take. */
const TIMEOUT_AFTER_MS = 6 * SECOND

export type Claimed = Omit<ActiveExecution, 'step' | 'graph'> & { currentStepId: string | null }

export const RUNNING_COLUMNS = sql`
  e.id, e.workflow_id as "workflowId", e.version, e.contact_id as "contactId", e.status, e.current_step_id as "currentStepId", e.visits,
  jsonb_build_object('at', ${exactTime(sql`e.arrived_at`)}, 'eventId', e.arrived_event_id) as arrival, e.due_at as "dueAt", e.awaits,
  e.deadline_at as "deadlineAt", e.attempts, e.context, e.event, e.started_at as "startedAt"`

/** Due executions of a project, oldest first. Others that are being advanced are left alone. */
export async function claimExecutions(tx: Tx, projectId: string, limit: number, only?: string) {
  await shareAdvance(tx, projectId)
  return many<Claimed>(tx)`
    select ${RUNNING_COLUMNS} from workflow_executions e
    where e.project_id = ${projectId} and e.due_at <= now() and e.webhook_host is null and ${runsSince(sql`e.created_at`)} ${only ? sql`and e.id = ${only}` : sql``}
      and not ${isWiped(sql`${projectId}`)}
    order by e.due_at limit ${limit} for update of e skip locked
  `
}

/**
 * Takes claimed executions as far as they come: each step's effect, its record and the next state are written in this transaction, or
 * nothing is.
 */
export async function advanceExecutions(tx: Tx, projectId: string, claimed: Claimed[], timeoutAfterMs = TIMEOUT_AFTER_MS) {
  const now = await scalar<Date>(tx)`select now()`
  const contacts = await readContacts(tx, projectId, claimed)
  const batch: StepBatch = { projectId, now, contacts, timeoutAfterMs }
  let open = await withGraphs(tx, projectId, claimed)
  for (let round = 0; open.length && round < MAX_ROUNDS; round++) {
    const outcomes = await runRound(tx, batch, open)
    // Contacts are locked only in the last round of a transaction: two rounds would lock in no consistent order.
    const hasWritten = open.some(({ step }) => kindOf(step.type).writesContacts)
    const isLast = hasWritten || round === MAX_ROUNDS - 1
    open = await applyOutcomes(tx, { projectId, now, isLast }, outcomes)
  }
  crash('executions-advanced')
}

async function runRound(tx: Tx, batch: StepBatch, open: ActiveExecution[]) {
  const outcomes: { execution: ActiveExecution; outcome: StepOutcome }[] = []
  const present = open.filter(({ contactId }) => batch.contacts.has(contactId))
  for (const execution of open) if (!batch.contacts.has(execution.contactId)) outcomes.push({ execution, outcome: CONTACT_GONE })
  const byType = groupBy(present, ({ step }) => step.type)
  for (const type of ALL_STEP_TYPES) {
    const several = byType.get(type) ?? []
    if (!several.length) continue
    const decided = await decideSteps(tx, batch, type, several)
    const results = (await kindOf(type).run?.(tx, batch, decided)) ?? decided.map(({ outcome }) => outcome)
    outcomes.push(...several.map((execution, index) => ({ execution, outcome: results[index]! })))
  }
  return outcomes
}

async function readContacts(tx: Tx, projectId: string, claimed: Claimed[]) {
  const rows = await many<{ id: string; email: string; subscribed: boolean }>(tx)`
    select id, email, subscribed from contacts where project_id = ${projectId} and id = any(${claimed.map(({ contactId }) => contactId)}::uuid[])
  `
  return new Map(rows.map(({ id, ...contact }) => [id, contact]))
}

/** Graphs never change, and ids of workflows are not used again. */
const graphs = createCache<string, Graph>({ maxWeight: 32 * MB })

export async function readGraphs(db: Db, projectId: string, executions: { workflowId: string; version: number }[]) {
  const keyOf = ({ workflowId, version }: { workflowId: string; version: number }) => `${workflowId} ${version}`
  const found = new Map<string, Graph>()
  const missing = new Map<string, { workflowId: string; version: number }>()
  for (const { workflowId, version } of executions) {
    const key = keyOf({ workflowId, version })
    const known = graphs.get(key)
    if (known) found.set(key, known)
    else missing.set(key, { workflowId, version })
  }
  if (missing.size) {
    const rows = await many<{ workflowId: string; version: number; graph: Graph; bytes: number }>(db)`
      select g.workflow_id as "workflowId", g.version, g.graph, octet_length(g.graph::text) as bytes
      from workflow_graphs g join ${recordset('workflow_graphs', [...missing.values()], ['workflowId', 'version'])} as k
        on g.workflow_id = k."workflowId" and g.version = k.version
      where g.project_id = ${projectId}
    `
    for (const { graph, bytes, ...key } of rows) {
      found.set(keyOf(key), graph)
      graphs.set(keyOf(key), graph, 4 * bytes)
    }
  }
  return (execution: { workflowId: string; version: number }) => found.get(keyOf(execution))
}

/** An execution without its graph, or without the step in it, cannot be: a graph is kept as long as executions follow it. */
export async function withGraphs(db: Db, projectId: string, claimed: Claimed[]): Promise<ActiveExecution[]> {
  const graphOf = await readGraphs(db, projectId, claimed)
  return claimed.map(({ currentStepId, ...execution }) => {
    const graph = graphOf(execution)
    const step = graph && stepOf(graph, currentStepId)
    if (!graph || !step) throw new Error(`execution ${execution.id} has no graph or step`)
    return { ...execution, graph, step }
  })
}
