create table workflows (
  project_id uuid not null,
  id uuid not null,
  name text not null,
  description text,
  trigger_type text not null default 'EVENT' check (trigger_type in ('EVENT', 'MANUAL', 'SCHEDULE')),
  trigger_config jsonb not null default '{}',
  enabled boolean not null default false,
  allow_reentry boolean not null default false,
  -- Version of the current graph.
  version int not null default 1,
  -- The next time of a SCHEDULE; null while it is disabled.
  next_firing_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
);
create index workflows_to_fire on workflows (next_firing_at) where next_firing_at is not null;

-- A graph never changes: a change of steps or transitions makes a new version. Executions keep the version that they started with.
create table workflow_graphs (
  project_id uuid not null,
  workflow_id uuid not null,
  version int not null,
  graph jsonb not null,
  -- What it mentions: fields, events, segments, templates, and the ids of its steps and transitions.
  uses jsonb not null default '{}',
  -- An execution has started with it.
  pinned boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (project_id, workflow_id, version)
);

-- Firings of SCHEDULE triggers. Each enrols the members of a segment in pages; `after` is the last contact of the last page.
create table workflow_firings (
  project_id uuid not null,
  id uuid not null,
  workflow_id uuid not null,
  fired_for timestamptz not null,
  status text not null check (status in ('RUNNING', 'DONE', 'SKIPPED')),
  reason text,
  after uuid,
  enrolled int not null default 0,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (project_id, id)
);
create index workflow_firings_by_workflow on workflow_firings (project_id, workflow_id, id);
create unique index workflow_firings_running on workflow_firings (project_id, workflow_id) where status = 'RUNNING';

create table webhook_secrets (
  project_id uuid primary key,
  secret bytea not null,
  previous bytea,
  previous_until timestamptz,
  created_at timestamptz not null default now()
);

-- Executions ----------------------------------------------------------------------------------------------------------

create table workflow_executions (
  project_id uuid not null,
  id uuid not null,
  workflow_id uuid not null,
  version int not null,
  contact_id uuid not null,
  status text not null default 'RUNNING' check (status in ('RUNNING', 'WAITING', 'COMPLETED', 'EXITED', 'FAILED', 'CANCELLED')),
  current_step_id uuid,
  -- Steps visited so far: the number of the current visit.
  visits int not null default 0,
  -- The position after which events count for a WAIT_FOR_EVENT step: the event that ended the step before and its time. A null id: it ended
  -- at that time without an event.
  arrived_at timestamptz not null default now(),
  arrived_event_id uuid,
  -- When it is to be advanced. Null: never by time alone.
  due_at timestamptz default now(),
  -- The event that it waits for.
  awaits text,
  -- The end of the wait, or of the retries of a step.
  deadline_at timestamptz,
  -- Tries of the current step that failed.
  attempts int not null default 0,
  -- Set while it waits for a request of a WEBHOOK step: its host.
  webhook_host text,
  exit_reason text,
  context jsonb not null default '{}',
  -- The event that started it: id, name, data and createdAt.
  event jsonb,
  source_event_id uuid,
  -- Started without re-entry: the only execution of its contact.
  once boolean not null default false,
  started_at timestamptz not null default now(),
  completed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
-- A contact is in a workflow once at a time.
create unique index workflow_executions_active on workflow_executions (project_id, contact_id, workflow_id)
  where status in ('RUNNING', 'WAITING');
create unique index workflow_executions_once on workflow_executions (project_id, workflow_id, contact_id) where once;
-- An event starts a workflow once.
create unique index workflow_executions_by_event on workflow_executions (project_id, workflow_id, contact_id, source_event_id);
create index workflow_executions_active_versions on workflow_executions (project_id, workflow_id, version)
  where status in ('RUNNING', 'WAITING');
create index workflow_executions_by_status on workflow_executions (project_id, workflow_id, status, id);
create index workflow_executions_due on workflow_executions (due_at) where due_at is not null and webhook_host is null;
create index workflow_executions_due_of_project on workflow_executions (project_id, due_at) where due_at is not null and webhook_host is null;
create index workflow_webhooks_due on workflow_executions (project_id, webhook_host, due_at) where webhook_host is not null;
create index workflow_executions_ended on workflow_executions (completed_at) where completed_at is not null;

-- One row for each visit of a step: the key makes a second effect of the same visit impossible.
create table workflow_step_executions (
  project_id uuid not null,
  execution_id uuid not null,
  visit int not null,
  id uuid not null,
  workflow_id uuid not null,
  step_id uuid not null,
  status text not null check (status in ('PENDING', 'SCHEDULED', 'WAITING', 'RUNNING', 'COMPLETED', 'SKIPPED', 'FAILED')),
  scheduled_for timestamptz,
  input jsonb,
  output jsonb,
  error text,
  email_id uuid,
  started_at timestamptz not null default now(),
  completed_at timestamptz,
  primary key (project_id, execution_id, visit)
  -- An open visit that ends leaves a dead entry among the open ones, which their list reads until it is vacuumed.
) with (autovacuum_vacuum_scale_factor = 0.02);
-- Visits of a step by outcome, newest first, however rare the outcome is among a million visits. The only index besides the key: each
-- outcome is a range of it, and all of them are merged. The expression is that of workflows/executions/visit-outcome.ts.
create index workflow_visits_by_outcome on workflow_step_executions (
  project_id, workflow_id, step_id,
  (case status when 'COMPLETED' then 'completed' when 'FAILED' then 'failed'
    when 'SKIPPED' then case when error is null then 'skipped' else 'cancelled' end else 'waiting' end),
  id);

-- Contacts whose executions were deleted by age. A workflow without re-entry does not take them again.
create table workflow_entries (
  project_id uuid not null,
  workflow_id uuid not null,
  contact_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (project_id, workflow_id, contact_id)
);

-- Starts that a limit refused, by hour.
create table workflow_refusals (
  project_id uuid not null,
  workflow_id uuid not null,
  contact_id uuid not null,
  hour timestamptz not null,
  reason text not null,
  count int not null default 1,
  created_at timestamptz not null default now(),
  primary key (project_id, workflow_id, contact_id, hour, reason)
);

-- Figures -------------------------------------------------------------------------------------------------------------

-- Changes of the figures of a workflow, added up once a minute. Appended, so that workers do not wait for each other.
create table workflow_tallies (
  project_id uuid not null,
  id bigint generated always as identity,
  workflow_id uuid not null,
  -- A step, or a transition for the kind "taken".
  subject_id uuid not null,
  kind text not null,
  n int not null,
  -- Start of the execution for the kinds "started" and "dropped": the day that it is added to, or taken away from.
  created_at timestamptz not null default now(),
  primary key (project_id, id)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 100000);
create index workflow_tallies_by_workflow on workflow_tallies (project_id, workflow_id);

-- Visits of steps and transitions taken. Executions by status are figures too: `completed`, `exited`, `failed` and `cancelled`, and `dropped`
-- for those deleted by age, with the workflow as subject.
create table workflow_figures (
  project_id uuid not null,
  workflow_id uuid not null,
  subject_id uuid not null,
  kind text not null,
  n bigint not null,
  created_at timestamptz not null default now(),
  primary key (project_id, workflow_id, subject_id, kind)
);

-- Executions of a workflow by the UTC day on which they started, without those deleted by age. For the last 31 days.
create table workflow_days (
  project_id uuid not null,
  workflow_id uuid not null,
  day date not null,
  started bigint not null,
  created_at timestamptz not null default now(),
  primary key (project_id, workflow_id, day)
);
