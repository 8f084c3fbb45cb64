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

-- One for each hour with usage. `identifier` makes a repetition harmless for 24 hours.
create table usage_reports (
  project_id uuid not null,
  category text not null,
  hour timestamptz not null,
  value bigint not null,
  customer text not null,
  identifier text not null unique,
  state text not null default 'waiting' check (state in ('waiting', 'sent', 'unknown')),
  -- Since then the provider may have it: repeated for 23 hours at most.
  uncertain_since timestamptz,
  attempts int not null default 0,
  due_at timestamptz not null default now(),
  error text,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  primary key (project_id, category, hour)
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
