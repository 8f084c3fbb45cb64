-- Usage ---------------------------------------------------------------------------------------------------------------

-- How many emails each project had accepted (by category) and how they ended (for its reputation), by the hour: sums of `email_ledger`.
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

-- Billing -------------------------------------------------------------------------------------------------------------

-- What of a category was reported to the billing provider: every hour from `since` to `reported_to`.
create table billing_meters (
  project_id uuid not null,
  category text not null,
  since timestamptz not null,
  reported_to timestamptz not null,
  -- Changes of hours that were reported already: part of the next report.
  carry bigint not null default 0,
  primary key (project_id, category)
);

-- One for each hour with usage, and several for an hour in which a subscription ended and another one began.
create table usage_reports (
  project_id uuid not null,
  category text not null,
  hour timestamptz not null,
  part int not null default 0,
  value bigint not null,
  customer text not null,
  -- Makes a repetition harmless for 24 hours.
  identifier text not null unique,
  -- The time of the report at the billing provider, which must be in the period of the subscription. Null: the last second of the hour.
  at timestamptz,
  state text not null default 'waiting' check (state in ('waiting', 'sent', 'unknown')),
  -- Since then the provider may have it: repeated for 23 hours at most.
  uncertain_since timestamptz,
  attempts int not null default 0,
  due_at timestamptz not null default now(),
  error text,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  primary key (project_id, category, hour, part)
);
create index usage_reports_waiting on usage_reports (due_at) where state = 'waiting';
create index usage_reports_unknown on usage_reports (created_at) where state = 'unknown';
create index usage_reports_created on usage_reports (created_at);

-- Notifications of the billing provider that were received.
create table stripe_events (
  id text primary key,
  type text not null,
  received_at timestamptz not null default now()
);
create index stripe_events_received on stripe_events (received_at);

-- Reputation ----------------------------------------------------------------------------------------------------------

-- Sums of the counts of a project, since its owner acknowledged them the last time, and of all time.
create table reputations (
  project_id uuid primary key,
  attempted bigint not null default 0,
  bounced bigint not null default 0,
  complained bigint not null default 0,
  all_attempted bigint not null default 0,
  all_bounced bigint not null default 0,
  all_complained bigint not null default 0,
  -- The hour of the acknowledgement, and what had been counted in it before.
  since timestamptz,
  before_attempted bigint not null default 0,
  before_bounced bigint not null default 0,
  before_complained bigint not null default 0,
  acknowledged_at timestamptz,
  acknowledged_by text,
  -- Counted since it was judged.
  due boolean not null default true
);
create index reputations_due on reputations (project_id) where due;

create table suspensions (
  project_id uuid not null,
  id uuid not null,
  at timestamptz not null default now(),
  reason text not null,
  -- The project was created while its owner had a suspended project.
  inherited boolean not null default false,
  -- Ends by itself then.
  ends_at timestamptz,
  until timestamptz,
  lifted_by text,
  primary key (project_id, id)
);
create index suspensions_ending on suspensions (ends_at) where until is null and ends_at is not null;

-- What a suspension leaves behind for 30 days, also after its project or the account of its owner was deleted. `suspended` is the project,
-- which may be gone: these rows are not part of its data, and a wipe keeps them.
create table suspended_owners (
  suspended uuid primary key,
  owner uuid not null,
  -- SHA-256 of the owner's address: an account that is deleted and made again has another id.
  address bytea not null,
  reason text not null,
  at timestamptz not null default now(),
  until timestamptz not null
);
create index suspended_owners_owner on suspended_owners (owner);
create index suspended_owners_address on suspended_owners (address);
create index suspended_owners_until on suspended_owners (until);

create table suspended_domains (
  domain text not null,
  suspended uuid not null,
  until timestamptz not null,
  primary key (domain, suspended)
);
create index suspended_domains_suspended on suspended_domains (suspended);
create index suspended_domains_until on suspended_domains (until);

