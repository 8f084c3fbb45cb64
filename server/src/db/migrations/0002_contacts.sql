-- Both come with every PostgreSQL and may be created by the owner of a database.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- Contacts ------------------------------------------------------------------------------------------------------------

-- No foreign key to projects: checking it would lock that one row for every contact written. Wiping a project removes them.
create table contacts (
  project_id uuid not null,
  id uuid not null,
  -- Byte order on every server, so that a page sorted by address is the same everywhere.
  email text collate "C" not null,
  subscribed boolean not null,
  data jsonb not null default '{}' constraint contacts_data_size check (pg_column_size(data) <= 262144),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Moves only when `subscribed` flips, so "did this statement flip it?" is one comparison.
  subscription_changed_at timestamptz not null default now(),
  primary key (project_id, id),
  unique (project_id, email)
  -- Room for updates of `data` on the same page: nothing that they change is indexed, so they stay HOT.
) with (fillfactor = 85);
create index contacts_search on contacts using gin (project_id, email gin_trgm_ops);
-- Both orders of a list, by subscription. Without the second a page sorted by address could read a million rows (5.4 s).
create index contacts_subscribed on contacts (project_id, subscribed, id);
create index contacts_subscribed_email on contacts (project_id, subscribed, email);

-- Who changed a subscription, and how. Outlives the event of the same change.
create table consents (
  project_id uuid not null,
  contact_id uuid not null,
  id uuid not null,
  subscribed boolean not null,
  source text not null,
  details jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (project_id, contact_id, id)
);

-- The sum over a project's rows is its count. Writers only append, so they never wait for each other; a job adds rows up.
create table contact_counts (
  project_id uuid not null,
  id bigint generated always as identity,
  total int not null,
  subscribed int not null,
  primary key (project_id, id)
);

-- Every key ever seen in `data`, with the type of its first value.
create table contact_fields (
  project_id uuid not null,
  key text not null,
  type text not null check (type in ('number', 'boolean', 'date', 'string')),
  -- How many contacts have it, as last counted.
  contacts int not null default 0,
  counted_at timestamptz,
  primary key (project_id, key)
);

-- Events --------------------------------------------------------------------------------------------------------------

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
create index events_by_name on events (project_id, name, contact_id, id);
create index events_by_contact on events (project_id, contact_id, id);

-- Jobs that a customer waits for --------------------------------------------------------------------------------------

create table jobs (
  project_id uuid not null,
  id uuid not null,
  type text not null,
  state text not null default 'waiting' check (state in ('waiting', 'active', 'completed', 'failed')),
  progress int not null default 0,
  input jsonb not null default '{}',
  -- How far it came; moves in the transaction that does the work.
  position jsonb,
  result jsonb,
  failed_reason text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (project_id, id)
);
create index jobs_finished on jobs (finished_at) where finished_at is not null;

create table job_files (
  project_id uuid not null,
  job_id uuid not null,
  content bytea not null,
  primary key (project_id, job_id),
  foreign key (project_id, job_id) references jobs on delete cascade
);

-- What went wrong with single rows or ids of a job. All of them are kept with the job.
create table job_errors (
  project_id uuid not null,
  job_id uuid not null,
  row int not null,
  subject text not null,
  error text not null,
  primary key (project_id, job_id, row),
  foreign key (project_id, job_id) references jobs on delete cascade
);

-- Which job workers belong to which living process; see jobs/liveness.ts.
create table job_workers (
  worker_id text primary key,
  liveness_key int not null
);
