import { sql } from 'kysely'

/** How a visit of a step stands. Each is a figure of the step, and together they are the figure `entered`. */
export const VISIT_OUTCOMES = ['waiting', 'completed', 'skipped', 'failed', 'cancelled'] as const
export type VisitOutcome = (typeof VISIT_OUTCOMES)[number]

/**
 * Outcome of the visit `s`. A visit that was open when its execution was cancelled is stored as SKIPPED too; only such a visit has an error.
 * It must stay the expression of the index `workflow_visits_by_outcome`, which is not used otherwise.
 */
export const VISIT_OUTCOME = sql`
  case s.status when 'COMPLETED' then 'completed' when 'FAILED' then 'failed'
    when 'SKIPPED' then case when s.error is null then 'skipped' else 'cancelled' end else 'waiting' end`
