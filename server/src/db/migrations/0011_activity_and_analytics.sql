-- Activity feed -------------------------------------------------------------------------------------------------------

-- What happened and is no event: workflows, campaigns, skipped emails, suppressions. Together with the events it is the activity feed.
create table activities (
  project_id uuid not null,
  -- UUIDv7, like those of events: both are one list in the order of their ids.
  id uuid not null,
  type text not null,
  contact_id uuid,
  data jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
create index activities_by_type on activities (project_id, type, id);
create index activities_by_contact on activities (project_id, contact_id, id) where contact_id is not null;

-- Activities by type and day: sums, and deltas that are not added to them yet.
create table activity_count_deltas (
  project_id uuid not null,
  id bigint generated always as identity,
  type text not null,
  day date not null,
  count bigint not null,
  primary key (project_id, id)
);
create table activity_counts (
  project_id uuid not null,
  type text not null,
  day date not null,
  count bigint not null,
  primary key (project_id, type, day)
);

-- Roll-ups of emails --------------------------------------------------------------------------------------------------

-- Facts about emails by the hour in which they happened. An email without a campaign, template or workflow has the id of zeros.
create table email_hours (
  project_id uuid not null,
  hour timestamptz not null,
  source text not null,
  campaign_id uuid not null,
  template_id uuid not null,
  workflow_id uuid not null,
  sent int not null default 0,
  delivered int not null default 0,
  opened int not null default 0,
  clicked int not null default 0,
  machine_opened int not null default 0,
  machine_clicked int not null default 0,
  bounced int not null default 0,
  complained int not null default 0,
  unsubscribed int not null default 0,
  -- Delivered emails by the time from acceptance to delivery.
  within_1s int not null default 0,
  within_2s int not null default 0,
  within_5s int not null default 0,
  within_10s int not null default 0,
  within_30s int not null default 0,
  within_1m int not null default 0,
  within_5m int not null default 0,
  within_15m int not null default 0,
  within_1h int not null default 0,
  within_6h int not null default 0,
  later int not null default 0,
  primary key (project_id, hour, source, campaign_id, template_id, workflow_id)
) with (fillfactor = 80);

-- The same by UTC day, for long periods.
create table email_days (
  project_id uuid not null,
  day date not null,
  source text not null,
  campaign_id uuid not null,
  template_id uuid not null,
  workflow_id uuid not null,
  sent int not null default 0,
  delivered int not null default 0,
  opened int not null default 0,
  clicked int not null default 0,
  machine_opened int not null default 0,
  machine_clicked int not null default 0,
  bounced int not null default 0,
  complained int not null default 0,
  unsubscribed int not null default 0,
  within_1s int not null default 0,
  within_2s int not null default 0,
  within_5s int not null default 0,
  within_10s int not null default 0,
  within_30s int not null default 0,
  within_1m int not null default 0,
  within_5m int not null default 0,
  within_15m int not null default 0,
  within_1h int not null default 0,
  within_6h int not null default 0,
  later int not null default 0,
  primary key (project_id, day, source, campaign_id, template_id, workflow_id)
) with (fillfactor = 80);

-- Facts by UTC day and domain of the recipient. A day with a row for the domain '' has a fixed list of domains: all others are counted there.
create table email_domain_days (
  project_id uuid not null,
  day date not null,
  domain text collate "C" not null,
  sent int not null default 0,
  delivered int not null default 0,
  opened int not null default 0,
  clicked int not null default 0,
  machine_opened int not null default 0,
  machine_clicked int not null default 0,
  bounced int not null default 0,
  complained int not null default 0,
  unsubscribed int not null default 0,
  primary key (project_id, day, domain)
) with (fillfactor = 80);

-- Checks --------------------------------------------------------------------------------------------------------------

-- All ledgers of a project are compared with what they count, in turns.
create table ledger_checks (
  project_id uuid primary key,
  checked_at timestamptz not null default now(),
  -- Rows that were wrong when that was last so, by table. They are corrected.
  drift jsonb,
  drift_at timestamptz
);
create index ledger_checks_by_drift on ledger_checks (drift_at) where drift_at is not null;
