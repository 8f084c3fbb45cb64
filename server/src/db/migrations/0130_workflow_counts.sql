-- Executions of a workflow by status are figures too: `completed`, `exited`, `failed` and `cancelled`, and `dropped` for those deleted by age,
-- with the workflow as subject. This is when they were last compared with the executions. Null: not yet, so that the first comparison
-- counts what ended before, or by nodes of the release before.
alter table workflows add column executions_counted_at timestamptz;
