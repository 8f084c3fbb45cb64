-- What changed (events/listen.ts), as far as something listens to it. Null in rows of older nodes, which did not say.
alter table reactions
  add column topics text[],
  -- Failures of this row alone. It is due again later each time.
  add column attempts int not null default 0,
  add column due_at timestamptz not null default now();
-- Both questions of the dispatcher: which projects have due rows (a skip scan), and the oldest due rows of one project.
create index reactions_due on reactions (project_id, due_at, id);
-- A queue: by the share of rows that is the default, dead rows would pile up at the end that the dispatcher reads.
alter table reactions set (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.05);

-- Fields that were deleted and that no contact got again since: every filter on them is false.
create table deleted_contact_fields (
  project_id uuid not null,
  key text not null,
  deleted_at timestamptz not null default now(),
  primary key (project_id, key)
);

-- Called when a field is registered; true if it had been deleted. A function, because each statement in a volatile function sees the
-- commits up to its own start: the statement that registers may have waited for a deletion that its snapshot does not include.
create function revive_contact_field(project uuid, field text) returns boolean volatile language plpgsql as $$
begin
  delete from deleted_contact_fields where project_id = project and key = field;
  return found;
end $$;

-- The time in a UUIDv7, in milliseconds.
create function id_time(id uuid) returns timestamptz immutable parallel safe language sql
return to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0);
