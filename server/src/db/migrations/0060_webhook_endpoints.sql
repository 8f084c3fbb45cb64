-- Addresses of customers that are told what happens in their project.
create table webhook_endpoints (
  -- Cascades: a deleted project must not keep one, not even by a request that commits after its rows were wiped.
  project_id uuid not null references projects on delete cascade,
  id uuid not null,
  url text not null,
  description text,
  -- Types, groups such as email.*, or * for everything.
  events text[] not null,
  enabled boolean not null default true,
  -- gone, failing or backlog. Null if it is enabled, or was disabled by a request.
  disabled_reason text,
  -- Sealed.
  secret bytea not null,
  -- The secret before the last rotation; until then requests are signed with both.
  previous bytea,
  previous_until timestamptz,
  -- The first failure since the last request that succeeded.
  failing_since timestamptz,
  -- The worker that makes its requests has until then.
  leased_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
);

-- What happened and an endpoint wants to know, written in the transaction in which it happened. A worker moves each row to
-- webhook_messages, with a delivery for each endpoint. No index but the key: this is written on the hottest paths.
create table webhook_outbox (
  project_id uuid not null,
  -- UUIDv7; that of the event, if it is one.
  id uuid not null,
  type text not null,
  name text not null,
  contact_id uuid,
  contact_email text,
  email_id uuid,
  data jsonb not null,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
  -- A queue: by the share of rows that is the default, dead rows would pile up at the end that the worker reads.
) with (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.05);

-- The payloads, once for all endpoints. One partition a day by the time in the id; dropped as a whole. A delivery that is kept longer gets a
-- copy first.
create table webhook_messages (like webhook_outbox including defaults, primary key (project_id, id)) partition by range (id);
create table webhook_messages_default partition of webhook_messages default;

-- Deliveries that are under way or have failed. One that succeeded moves to webhook_delivered.
create table webhook_deliveries (
  project_id uuid not null,
  -- UUIDv7 with the time of the message. It follows from message and endpoint: a repeat has the same one.
  id uuid not null,
  endpoint_id uuid not null,
  message_id uuid not null,
  type text not null,
  status text not null default 'pending' check (status in ('pending', 'failed')),
  -- Attempts since the last replay: they decide the next wait.
  tries int not null default 0,
  -- The latest attempts, with those before a replay.
  attempts jsonb not null default '[]',
  due_at timestamptz not null default now(),
  -- Copy of the message, from the time on that its partition is dropped.
  payload jsonb,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
) with (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.05);
-- Which endpoints have due deliveries (a skip scan), and the oldest ones of one endpoint.
create index webhook_deliveries_due on webhook_deliveries (project_id, endpoint_id, due_at) where status = 'pending';
create index webhook_deliveries_by_endpoint on webhook_deliveries (project_id, endpoint_id, id);

-- Deliveries that succeeded. One partition a day, dropped as a whole.
create table webhook_delivered (
  project_id uuid not null,
  id uuid not null,
  endpoint_id uuid not null,
  message_id uuid not null,
  type text not null,
  attempts jsonb not null,
  payload jsonb,
  delivered_at timestamptz not null default now(),
  created_at timestamptz not null,
  primary key (project_id, id, delivered_at)
) partition by range (delivered_at);
create table webhook_delivered_default partition of webhook_delivered default;
create index webhook_delivered_by_endpoint on webhook_delivered (project_id, endpoint_id, id);

-- Attempts of an endpoint by hour, for its health.
create table webhook_hours (
  project_id uuid not null,
  endpoint_id uuid not null,
  hour timestamptz not null,
  succeeded int not null,
  failed int not null,
  duration_ms bigint not null,
  primary key (project_id, endpoint_id, hour)
);
