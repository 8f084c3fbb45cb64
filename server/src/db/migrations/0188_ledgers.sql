-- Counts are sums, and deltas that are not added to them yet: writers append, so that they never wait for each other.
alter table contact_counts rename to contact_count_deltas;
alter table contact_count_deltas rename constraint contact_counts_pkey to contact_count_deltas_pkey;
alter table contact_count_deltas
  alter column total set default 0,
  alter column subscribed set default 0,
  -- As in contact_days.
  add column deleted int not null default 0,
  add column gone_created int not null default 0,
  add column gone_created_subscribed int not null default 0,
  add column gone_opted_in int not null default 0,
  add column gone_opted_out int not null default 0;
create table contact_counts (
  project_id uuid primary key,
  total bigint not null,
  subscribed bigint not null
);

alter table activity_counts rename to activity_count_deltas;
alter table activity_count_deltas rename constraint activity_counts_pkey to activity_count_deltas_pkey;
create table activity_counts (
  project_id uuid not null,
  type text not null,
  day date not null,
  count bigint not null,
  primary key (project_id, type, day)
);

-- A delta of the kind `dropped` has the start of the execution as its time: the day from which it is taken away.
comment on column workflow_tallies.created_at is 'Start of the execution for the kinds started and dropped.';

-- All ledgers of a project are compared with what they count in turns.
alter table workflows drop column executions_counted_at, drop column visits_counted_at, drop column days_counted_to;
create table ledger_checks (
  project_id uuid primary key,
  checked_at timestamptz not null default now(),
  -- Rows that were wrong when that was last so, by table. They are corrected.
  drift jsonb,
  drift_at timestamptz
);
create index ledger_checks_by_drift on ledger_checks (drift_at) where drift_at is not null;
