-- When a key was last used, to the minute. The version tells the use of a key from that of the one before it.
create table key_usage (
  project_id uuid not null,
  kind text not null check (kind in ('pk', 'sk')),
  key_version int not null,
  used_at timestamptz not null,
  primary key (project_id, kind)
);
