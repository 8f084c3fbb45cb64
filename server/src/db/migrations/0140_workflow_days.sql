-- Executions of a workflow by the UTC day on which they started, without those deleted by age. For the last 31 days.
create table workflow_days (
  project_id uuid not null,
  workflow_id uuid not null,
  day date not null,
  started bigint not null,
  created_at timestamptz not null default now(),
  primary key (project_id, workflow_id, day)
);

-- Days up to this time were compared with the executions. Null: none, so that the days before this release are counted, and those that nodes
-- of the release before added up.
alter table workflows add column days_counted_to timestamptz;
