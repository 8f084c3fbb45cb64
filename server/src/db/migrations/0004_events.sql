-- Ids, not contacts, follow the name: new events go to one edge of the index, and a list by name is a walk along it.
drop index events_by_name;
create index events_by_name on events (project_id, name, id) include (contact_id);

-- The UTC day in a UUIDv7: partitions and counts go by it.
create function id_day(id uuid) returns date immutable parallel safe language sql
return (to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) at time zone 'utc')::date;

-- How many events of a name a day has. What a transaction adds or takes away is appended to the deltas, where nobody waits for
-- anybody; once a minute they are added up. The truth is the sum of both.
create table event_counts (
  project_id uuid not null,
  name text not null,
  day date not null,
  count bigint not null,
  primary key (project_id, name, day)
);
create table event_count_deltas (
  project_id uuid not null,
  id bigint generated always as identity,
  name text not null,
  day date not null,
  count int not null,
  primary key (project_id, id)
);

-- Who wants to know: of an event by its name, of every event, or of every change of a contact. A project without listeners
-- pays nothing for them.
create table listeners (
  project_id uuid not null,
  -- event:<name>, event:* or contact
  topic text not null,
  listener text not null,
  primary key (project_id, topic, listener)
);

-- What listeners have to look at, written in the transaction that made it happen.
create table reactions (
  project_id uuid not null,
  id uuid not null,
  contact_id uuid,
  -- Null when it is the contact itself that changed.
  event_id uuid,
  event_name text,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);

-- Counted from what is there already.
insert into event_counts (project_id, name, day, count)
select project_id, name, id_day(id), count(*) from events group by 1, 2, 3;

-- Checking it locked the one row of the project for every key. Wiping a project removes its keys.
alter table idempotency_keys drop constraint idempotency_keys_project_id_fkey;
