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

-- Activities by type and day. The sum over the rows is the count: writers only append, a job adds rows up.
create table activity_counts (
  project_id uuid not null,
  id bigint generated always as identity,
  type text not null,
  day date not null,
  count bigint not null,
  primary key (project_id, id)
);

-- IANA name of the time zone in which people of the project read figures.
alter table projects add column timezone text not null default 'UTC';
