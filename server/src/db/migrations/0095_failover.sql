-- A standby that takes over may lack the last commits. Each worker commits a counter once a second and remembers the last value whose commit was
-- acknowledged; by that it sees whether the new server has everything.
alter table senders
  add column counter bigint not null default 0,
  -- The timeline of the server that the worker has compared its counter with. Null: a worker of an earlier version, which compares nothing.
  add column timeline text;

alter table instance
  -- When a node first saw the server of `database_identity`.
  add column database_changed_at timestamptz,
  -- Whether a worker has found its counter on that server.
  add column database_proven boolean not null default false,
  -- When a worker stopped in order last.
  add column workers_left_at timestamptz,
  -- The partial hold: what was recorded before this time, and emails with lower ids, wait.
  add column sending_waits_before timestamptz,
  add column sending_waits_up_to uuid,
  add column sending_waits_reason text,
  -- It does not end by itself.
  add column sending_waits_for_person boolean not null default false;
