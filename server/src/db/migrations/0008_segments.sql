create table segments (
  project_id uuid not null,
  id uuid not null,
  name text not null,
  description text,
  type text not null check (type in ('DYNAMIC', 'STATIC')),
  -- Null for a static segment.
  condition jsonb,
  -- What the condition mentions, as {fields, events, segments}: usage and references are found without reading trees of 64 KB.
  uses jsonb not null default '{}',
  slug text not null,
  track_membership boolean not null default false,
  member_count int not null default 0,
  counted_at timestamptz,
  count_estimated boolean not null default false,
  -- Time the count took: an expensive count is repeated less often.
  count_ms int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id),
  unique (project_id, slug),
  check (type = 'STATIC' or condition is not null)
);

-- Members of static segments, and of dynamic segments whose membership is tracked. No foreign key to segments: a cascade would delete
-- a million rows in one statement, so a job deletes the members of a deleted segment.
create table segment_members (
  project_id uuid not null,
  segment_id uuid not null,
  contact_id uuid not null,
  added_at timestamptz not null default now(),
  primary key (project_id, segment_id, contact_id),
  foreign key (project_id, contact_id) references contacts on delete cascade
);
-- For the cascade, and for the segments of one contact.
create index segment_members_by_contact on segment_members (project_id, contact_id);

-- Tracked memberships -------------------------------------------------------------------------------------------------

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
