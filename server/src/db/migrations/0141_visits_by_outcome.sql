-- sterna: no transaction
-- Visits of a step by outcome, newest first, however rare the outcome is among a million visits. The only index besides the key: each
-- outcome is a range of it, and all of them are merged. The expression is that of workflows/visit-outcome.ts.
create index concurrently if not exists workflow_visits_by_outcome on workflow_step_executions (
  project_id, workflow_id, step_id,
  (case status when 'COMPLETED' then 'completed' when 'FAILED' then 'failed'
    when 'SKIPPED' then case when error is null then 'skipped' else 'cancelled' end else 'waiting' end),
  id);
