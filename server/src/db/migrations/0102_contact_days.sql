-- How a contact came into the project: a source as in consents. Null: before this column existed.
alter table contacts add column created_by text;

-- Rows that are not added up yet also say what happened, on which UTC day and by which source.
alter table contact_counts
  -- Rows of before: the time of this migration.
  add column created_at timestamptz not null default now(),
  add column day date,
  add column source text,
  add column created int not null default 0,
  add column created_subscribed int not null default 0,
  add column opted_in int not null default 0,
  add column opted_out int not null default 0;

-- Contacts by UTC day and source.
create table contact_days (
  project_id uuid not null,
  day date not null,
  source text not null,
  created int not null default 0,
  created_subscribed int not null default 0,
  opted_in int not null default 0,
  opted_out int not null default 0,
  -- Deleted on this day.
  deleted int not null default 0,
  -- The part of the first four that is about contacts deleted since, whose rows cannot be counted any more.
  gone_created int not null default 0,
  gone_created_subscribed int not null default 0,
  gone_opted_in int not null default 0,
  gone_opted_out int not null default 0,
  primary key (project_id, day, source)
);
