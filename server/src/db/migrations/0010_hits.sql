-- What is remembered of the opens and clicks of a mail, to tell people from machines and to bound what is written.
create table email_hits (
  project_id uuid not null,
  email_id uuid not null,
  -- Events written so far, of people and of machines.
  events int not null default 0,
  machine_events int not null default 0,
  -- The hits of the last minute: kind, link, time, and keyed hashes of where they came from.
  recent jsonb not null default '[]',
  primary key (project_id, email_id)
) with (fillfactor = 80);
