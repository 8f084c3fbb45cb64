-- A fact is written once, into webhook_messages, in the transaction in which it happened. The outbox says which facts no worker has taken:
-- one row for those of a statement and type, however many they are.
insert into webhook_messages (project_id, id, type, name, contact_id, contact_email, email_id, data, created_at)
select project_id, id, type, name, contact_id, contact_email, email_id, data, created_at from webhook_outbox;
alter table webhook_outbox add column message_ids uuid[];
update webhook_outbox set message_ids = array[id];
alter table webhook_outbox
  alter column message_ids set not null,
  drop column name, drop column contact_id, drop column contact_email, drop column email_id, drop column data;

-- First attempts that are due: messages of one type for one endpoint, the oldest first. What fails gets a row of its own in
-- webhook_deliveries, what succeeds is in webhook_runs.
create table webhook_batches (
  project_id uuid not null,
  endpoint_id uuid not null,
  -- That of the last message.
  id uuid not null,
  type text not null,
  message_ids uuid[] not null,
  size int not null generated always as (cardinality(message_ids)) stored,
  created_at timestamptz not null default now(),
  primary key (project_id, endpoint_id, id)
) with (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.05);

-- Deliveries that succeeded at the first attempt. One partition a day, dropped as a whole. A message that is replayed is null in its place.
create table webhook_runs (
  project_id uuid not null,
  endpoint_id uuid not null,
  -- Those of the first and the last message.
  first_id uuid not null,
  id uuid not null,
  type text not null,
  message_ids uuid[] not null,
  -- When the request was made, in milliseconds after created_at; the status of the reply; the time that it took.
  after_ms int[] not null,
  statuses smallint[] not null,
  durations_ms int[] not null,
  delivered_at timestamptz not null default now(),
  created_at timestamptz not null,
  primary key (project_id, endpoint_id, id, delivered_at)
) partition by range (delivered_at);
create table webhook_runs_default partition of webhook_runs default;
-- Random numbers: to compress them takes time for nothing.
alter table webhook_batches alter column message_ids set storage external;
alter table webhook_runs alter column message_ids set storage external;

-- The id of the delivery of a message to an endpoint: the time of the message, and the random bits of both. With the id of a delivery in place
-- of the message it returns the message. deliveryIdOf (server/src/webhook-endpoints/delivery-id.ts) computes the same.
create function webhook_delivery_id(message uuid, endpoint uuid) returns uuid language sql immutable parallel safe return (
  left(message::text, 19) || lpad(to_hex((
    ('x' || substr(message::text, 20, 4) || substr(message::text, 25))::bit(64)
    # ('x' || substr(endpoint::text, 20, 4) || substr(endpoint::text, 25))::bit(64)
    | ('x8000000000000000')::bit(64))::bigint), 16, '0'))::uuid;
