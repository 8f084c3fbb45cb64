import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Pool } from '../../db/index.ts'
import { withStatementTimeout } from '../../db/statement-timeout.ts'
import { CursorQuery, readKeysetPage, severalOf } from '../../http/core/paging.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { searchWithin } from '../../http/limits/bounded-read.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { readFigures, stepFigures } from '../executions/figures.ts'
import { VISIT_OUTCOME, VISIT_OUTCOMES, type VisitOutcome } from '../executions/visit-outcome.ts'
import { STEP_STATUSES } from './execution.ts'

export const StepVisit = z
  .object({
    id: z.uuid(),
    executionId: z.uuid(),
    contactId: z.uuid(),
    stepId: z.uuid(),
    visit: z.int().describe('Number of the visit in its execution.'),
    status: z.enum(STEP_STATUSES),
    outcome: z.enum(VISIT_OUTCOMES).describe('The figure of the step that counts it.'),
    reason: z.string().nullable().describe('Why it was skipped or cancelled, or failed.'),
    error: z.string().nullable(),
    emailId: z.uuid().nullable(),
    scheduledFor: Timestamp.nullable(),
    startedAt: Timestamp,
    completedAt: Timestamp.nullable(),
    webhook: z
      .object({ status: z.int().nullable(), durationMs: z.int(), attempts: z.int() })
      .nullable()
      .describe('The last reply to the request of a WEBHOOK step, null for other steps. `status` is null if there was no reply.'),
    contact: z.object({ id: z.uuid(), email: z.string() }).nullable().describe('Null: the contact was deleted.'),
  })
  .meta({ id: 'WorkflowVisit' })

export const VisitsQuery = CursorQuery.extend({
  outcome: severalOf(VISIT_OUTCOMES).describe('One or several, also separated by commas. All of them by default: the figure `entered`.'),
  nextStepId: z.uuid().optional().describe('Only those after which the execution came to this step.'),
})

/** Ended visits leave dead entries in the index, which the first read after many ends has to pass. */
const SEARCH = { ms: 3_000, advice: 'Try again.' }
/** Visits that are counted at most, and for how long; beyond it the figure of the step is the total. */
const COUNT = { upTo: 10_000, ms: 1_000 }

type StepKey = { projectId: string; workflowId: string; stepId: string }
type Visits = StepKey & { outcomes: readonly VisitOutcome[]; nextStepId?: string | undefined }

/** Visits of a step, newest first. */
export async function listVisits(db: Pool, secrets: Secrets, step: StepKey, query: z.output<typeof VisitsQuery>) {
  const visits: Visits = {
    ...step,
    outcomes: VISIT_OUTCOMES.filter((outcome) => !query.outcome || query.outcome.includes(outcome)),
    nextStepId: query.nextStepId,
  }
  const page = await searchWithin(db, SEARCH, (tx) =>
    readKeysetPage(tx, secrets, {
      scope: JSON.stringify(['visits', visits]),
      query,
      select: ({ after, limit }) => pageSql(visits, { after: after?.[0] as string | undefined, limit }),
      positionOf: ({ id }) => [id],
    }),
  )
  return query.cursor === undefined ? { ...page, total: await countVisits(db, visits) } : page
}

type Page = { after: string | undefined; limit: number }

/**
 * Visits `s` of each outcome `o`, which is a range of an index: at most `limit` of each, newest first. The project is a column: of a constant
 * project that is newer than the statistics, the planner would expect one row, and might read all visits of the project by the primary key.
 */
const byOutcomeSql = ({ nextStepId, ...visits }: Visits, { after, limit }: Page, columns: RawBuilder<unknown>) => sql`
  with outcomes as materialized (
    select ${visits.projectId}::uuid as project_id, ${visits.workflowId}::uuid as workflow_id, ${visits.stepId}::uuid as step_id, outcome
    from unnest(${visits.outcomes}::text[]) as outcome
  )
  select v.* from outcomes o cross join lateral (
    select ${columns} from workflow_step_executions s
    where s.project_id = o.project_id and s.workflow_id = o.workflow_id and s.step_id = o.step_id and ${VISIT_OUTCOME} = o.outcome
      ${after === undefined ? sql`` : sql`and s.id < ${after}`} ${nextStepId === undefined ? sql`` : cameTo(nextStepId)}
    order by s.id desc limit ${limit}
  ) as v`

/** The visit after it is found by the primary key. */
const cameTo = (stepId: string) => sql`and exists (
  select from workflow_step_executions n
  where n.project_id = s.project_id and n.execution_id = s.execution_id and n.visit = s.visit + 1 and n.step_id = ${stepId})`

/** Executions and contacts are joined to the page, not to the table. */
const pageSql = (visits: Visits, page: Page) => sql<z.output<typeof StepVisit>>`
  select v.id, v.execution_id as "executionId", e.contact_id as "contactId", v.step_id as "stepId", v.visit, v.status, v.outcome,
    case when v.outcome in ('skipped', 'failed', 'cancelled') then coalesce(v.error, v.output ->> 'reason') end as reason,
    v.error, v.email_id as "emailId", v.scheduled_for as "scheduledFor", v.started_at as "startedAt", v.completed_at as "completedAt",
    case when v.output ? 'durationMs'
      then jsonb_build_object('status', v.output -> 'status', 'durationMs', v.output -> 'durationMs', 'attempts', v.output -> 'attempts') end as webhook,
    (select jsonb_build_object('id', c.id, 'email', c.email) from contacts c where c.project_id = e.project_id and c.id = e.contact_id) as contact
  from (
    ${byOutcomeSql(visits, page, sql`s.*, ${VISIT_OUTCOME} as outcome`)}
    order by v.id desc limit ${page.limit}
  ) as v
  join workflow_executions e on e.project_id = v.project_id and e.id = v.execution_id
  order by v.id desc`

async function countVisits(db: Pool, visits: Visits): Promise<number> {
  const found = byOutcomeSql(visits, { after: undefined, limit: COUNT.upTo }, sql`1`)
  const counted = await withStatementTimeout(db, COUNT.ms, (tx) => countRows(tx, sql`${found} limit ${COUNT.upTo}`))
  if (counted !== undefined && (counted < COUNT.upTo || visits.nextStepId !== undefined)) return counted
  if (visits.nextStepId !== undefined) return COUNT.upTo
  const figures = stepFigures(await readFigures(db, visits), visits.stepId)
  const total = visits.outcomes.reduce((sum, outcome) => sum + figures[outcome], 0)
  return Math.max(counted ?? 0, total)
}
