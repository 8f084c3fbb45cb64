-- Who changed what in a project. Written in the transaction of the change, never changed, kept for 400 days. Contacts are in it by their ids only.
create table audit_entries (
  project_id uuid not null,
  -- Ordered by time.
  id uuid not null,
  created_at timestamptz not null default now(),
  actor_type text not null check (actor_type in ('user', 'key', 'system')),
  actor_id text,
  actor_name text,
  -- `template.update`
  action text collate "C" not null,
  target_type text not null,
  target_id text,
  target_name text,
  -- [{ field, value? }]: values only of settings.
  changes jsonb not null default '[]',
  network text,
  primary key (project_id, id)
);
create index audit_entries_actor on audit_entries (project_id, actor_id, id);
create index audit_entries_action on audit_entries (project_id, action, id);
create index audit_entries_age on audit_entries (created_at);
