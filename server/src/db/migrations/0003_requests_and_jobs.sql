-- HTTP ----------------------------------------------------------------------------------------------------------------

-- Exists exactly when the work it stands for does: both commit together. No foreign key to projects: checking it would lock the one row of
-- the project for every key. No index on the age: it would cost every request with a key and serve one job an hour, so expired keys are
-- found page by page.
create table idempotency_keys (
  project_id uuid not null,
  key text not null,
  request text not null,
  status_code int not null,
  result jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (project_id, key)
);

-- Nodes lease shares of a project's requests per minute from here, so most requests never touch it.
create table rate_windows (
  project_id uuid primary key references projects on delete cascade,
  started_at timestamptz not null,
  leased int not null,
  -- How much of that the latest lease got: the answer to a node must say what is its own.
  granted int not null
);

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
-- Each upload counts the unfinished imports of its project, among a month of finished jobs.
create index jobs_unfinished on jobs (project_id, type) where finished_at is null;

-- The file that a job reads.
create table job_files (
  project_id uuid not null,
  job_id uuid not null,
  -- Uncompressed, so that a piece of the file is read without the rest of it.
  content bytea not null,
  primary key (project_id, job_id),
  foreign key (project_id, job_id) references jobs on delete cascade
);
alter table job_files alter column content set storage external;

-- The file that a job makes, in pieces: a table of a million contacts has hundreds of megabytes.
create table job_pieces (
  project_id uuid not null,
  job_id uuid not null,
  piece int not null,
  content text not null,
  primary key (project_id, job_id, piece),
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
