-- A database that was restored does not know what was sent since: until a person confirms, nothing is sent from it.
alter table instance
  -- The cluster and its timeline: a dump that is restored, or a standby that is promoted, has others.
  add column database_identity text,
  add column sending_held_at timestamptz,
  add column sending_held_reason text;
