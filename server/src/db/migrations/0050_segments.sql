-- Segments ------------------------------------------------------------------------------------------------------------

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
