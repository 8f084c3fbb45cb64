-- One partition a month by the time in the id (UUIDv7). The default one catches clocks that are wrong.
create table events (
  project_id uuid not null,
  id uuid not null,
  name text not null,
  contact_id uuid,
  email_id uuid,
  data jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (project_id, id)
) partition by range (id);
create table events_default partition of events default;
-- Ids, not contacts, follow the name: new events go to one edge of the index, and a list by name is a walk along it.
create index events_by_name on events (project_id, name, id) include (contact_id);
create index events_by_contact on events (project_id, contact_id, id);
-- When did this contact last do X? See docs/decisions/0011.
create index events_by_contact_name on events (project_id, contact_id, name, id);
-- Opens and clicks that no machine caused: a mailbox that scans everything has thousands of others.
create index events_by_human on events (project_id, contact_id, name, id)
  where name in ('email.open', 'email.click') and data ->> 'machine' is distinct from 'true';

-- Counts --------------------------------------------------------------------------------------------------------------

-- How many events of a name a day has. What a transaction adds or takes away is appended to the deltas, where writers do not wait for each
-- other; once a minute they are added up. The truth is the sum of both.
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

-- Listeners and reactions ---------------------------------------------------------------------------------------------

-- Who wants to know: of an event by its name, of every event, or of every change of a contact. A project without listeners
-- pays nothing for them.
create table listeners (
  project_id uuid not null,
  -- event:<name>, event:* or contact
  topic text not null,
  listener text not null,
  primary key (project_id, topic, listener)
);

-- Those of the topics that something in the project listens to. A function, because writers have it in their statements: the parts of a
-- statement are set up whether they run or not, and this one runs only in projects with listeners. A loop over probes of the index: for a
-- query over all topics PL/pgSQL would make a plan each time (50 µs), because its estimate for known topics is lower.
create function heard_topics(project uuid, topics text[]) returns text[] stable parallel safe language plpgsql as $$
declare
  each_topic text;
  heard text[] := '{}';
begin
  foreach each_topic in array topics loop
    perform from listeners l where l.project_id = project and l.topic = each_topic limit 1;
    if found then
      heard := heard || each_topic;
    end if;
  end loop;
  return heard;
end $$;

-- What listeners have to look at, written in the transaction that made it happen.
create table reactions (
  project_id uuid not null,
  id uuid not null,
  contact_id uuid,
  -- Null when it is the contact itself that changed.
  event_id uuid,
  event_name text,
  -- What changed (events/listen.ts), as far as something listens to it.
  topics text[],
  -- Failures of this row alone. It is due again later each time.
  attempts int not null default 0,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  primary key (project_id, id)
  -- A queue: by the share of rows that is the default, dead rows would pile up at the end that the dispatcher reads.
) with (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.05);
-- Both questions of the dispatcher: which projects have due rows (a skip scan), and the oldest due rows of one project.
create index reactions_due on reactions (project_id, due_at, id);
