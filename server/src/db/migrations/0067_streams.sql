-- The state of a campaign's stream, as the outbox sees it. The id is that of the campaign and the `stream_id` of its emails. A stream
-- without a row is never paused: transactional emails, and those of workflows.
create table streams (
  project_id uuid not null,
  id uuid not null,
  lane smallint not null default 1 check (lane in (0, 1)),
  -- Sending waits while this domain is not verified or is paused.
  from_domain text not null,
  paused_at timestamptz,
  cancelled_at timestamptz,
  -- Its emails expire some days after this time at the earliest: they have waited for a person or a rate until then.
  expiry_from timestamptz not null default now(),
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
-- Streams whose emails are still to be cancelled.
create index streams_cancelled on streams (project_id, id) where cancelled_at is not null;

-- A table of its own: a claim locks this row, and a mark the row in `streams`. In one row they would keep each other waiting.
create table stream_rates (
  project_id uuid not null,
  id uuid not null,
  per_minute int not null check (per_minute > 0),
  -- The time since then has not been used: it is worth `per_minute` emails a minute.
  unused_since timestamptz not null default now(),
  primary key (project_id, id)
);

-- Changes of the counters of campaigns, added up once a second. Appended, so that workers do not wait for each other.
create table email_tallies (
  project_id uuid not null,
  id bigint generated always as identity,
  campaign_id uuid not null,
  kind text not null,
  n int not null,
  at timestamptz not null default now(),
  primary key (project_id, id)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 100000);

alter table emails
  -- When a failed email was queued again by a resend of its campaign. Its expiry counts from then.
  add column requeued_at timestamptz,
  -- When its recipient unsubscribed by a link of this very email.
  add column unsubscribed_at timestamptz;

alter table email_hits
  -- Whether machines have opened or clicked it, to count each email once.
  add column machine_opened boolean not null default false,
  add column machine_clicked boolean not null default false;
