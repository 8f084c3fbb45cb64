-- How many emails each project had accepted (by category) and how they ended (for its reputation), by the hour. Appended by the statements
-- that cause them, so that no row is written by every request, and added up by workers every two seconds.
create table email_count_deltas (
  project_id uuid not null,
  id bigint generated always as identity,
  kind text not null,
  hour timestamptz not null,
  n bigint not null,
  primary key (project_id, id)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 100000);

create table email_counts (
  project_id uuid not null,
  -- A category of usage (workflows, campaigns, transactional, inbound): emails accepted in that hour that were not skipped.
  -- Or attempted, bounced, complained: emails sent in that hour, or refused by the receiver.
  kind text not null,
  hour timestamptz not null,
  count bigint not null,
  primary key (project_id, kind, hour)
);
create index email_counts_hour on email_counts (hour);

-- The usage of the current period, so that checking a cap reads one row.
create table usage_periods (
  project_id uuid not null,
  category text not null,
  period_start timestamptz not null,
  used bigint not null,
  -- The percentage that the owners were told of.
  warned smallint not null default 0,
  primary key (project_id, category)
);

-- Whether the email is in these counts. Null: a test, in the sandbox, or accepted by an earlier version.
alter table emails add column metered boolean;

alter table projects
  add column customer text,
  add column subscription text,
  add column currency text,
  add column billing_limit_workflows bigint,
  add column billing_limit_campaigns bigint,
  add column billing_limit_transactional bigint,
  add column billing_limit_inbound bigint,
  -- The period of the subscription. Null: calendar months.
  add column period_start timestamptz,
  add column period_end timestamptz,
  -- Numbers the look-ups of the subscription: only the latest is stored.
  add column billing_check int not null default 0,
  -- The last reset: emails accepted before it are gone, but counted.
  add column reset_at timestamptz;
create unique index projects_customer on projects (customer) where customer is not null;

alter table users add column operator boolean not null default false;
