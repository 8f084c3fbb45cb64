-- Dynamic segments whose membership is tracked, with the state of their upkeep.
create table tracked_segments (
  project_id uuid not null,
  segment_id uuid not null,
  -- Raised when the condition changes: a recomputation under way starts over.
  revision int not null default 1,
  -- The revision that the memberships were last recomputed for.
  computed_revision int,
  -- True until the memberships of an earlier tracking are deleted. Re-checks leave the segment alone until then.
  clearing boolean not null default true,
  -- Event windows of the condition, as [{name, ms}].
  windows jsonb not null default '[]',
  -- Contacts with an event that left its window up to this time were queued for a re-check.
  swept_at timestamptz not null default clock_timestamp(),
  created_at timestamptz not null default now(),
  primary key (project_id, segment_id),
  foreign key (project_id, segment_id) references segments on delete cascade
);
create index tracked_segments_to_sweep on tracked_segments (swept_at) where windows <> '[]';
create index tracked_segments_to_compute on tracked_segments (project_id, segment_id) where computed_revision is distinct from revision;

-- The next moment at which time alone may change whether a contact is in a tracked segment: windows on dates of the contact.
create table segment_due (
  project_id uuid not null,
  contact_id uuid not null,
  segment_id uuid not null,
  due_at timestamptz not null,
  primary key (project_id, contact_id, segment_id),
  foreign key (project_id, contact_id) references contacts on delete cascade
);
create index segment_due_at on segment_due (due_at);

-- The smallest UUIDv7 of a moment, with its milliseconds rounded down.
create function lowest_id(at timestamptz) returns uuid immutable parallel safe language sql
return (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
