-- When the figures of the steps were last compared with the visits. Null: not yet, so that the first comparison takes back the visits that
-- were deleted by age before, or by nodes of the release before.
alter table workflows add column visits_counted_at timestamptz;
-- An open visit that ends leaves a dead entry among the open ones, which their list reads until it is vacuumed.
alter table workflow_step_executions set (autovacuum_vacuum_scale_factor = 0.02);
