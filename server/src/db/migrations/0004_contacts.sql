-- No foreign key to projects: checking it would lock that one row for every contact written. Wiping a project removes its contacts.
create table contacts (
  project_id uuid not null,
  id uuid not null,
  -- Byte order on every server, so that a page sorted by address is the same everywhere.
  email text collate "C" not null,
  subscribed boolean not null,
  data jsonb not null default '{}' constraint contacts_data_size check (pg_column_size(data) <= 262144),
  -- How the contact came into the project: a source as in consents.
  created_by text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Moves only when `subscribed` flips, so "did this statement flip it?" is one comparison.
  subscription_changed_at timestamptz not null default now(),
  primary key (project_id, id),
  unique (project_id, email)
  -- Room for updates of `data` on the same page: nothing that they change is indexed, so they stay HOT.
) with (fillfactor = 85);
create index contacts_search on contacts using gin (project_id, email gin_trgm_ops);
-- Both orders of a list, by subscription. Without the second a page sorted by address could read a million rows (5.4 s).
create index contacts_subscribed on contacts (project_id, subscribed, id);
create index contacts_subscribed_email on contacts (project_id, subscribed, email);

-- Addresses that contacts have left. Emails are found by their contact, for which there is an index; an email that went to a former address is
-- found by that address too.
create table former_addresses (
  project_id uuid not null,
  address text collate "C" not null,
  contact_id uuid not null,
  primary key (project_id, address, contact_id)
);
create index former_addresses_of_contact on former_addresses (project_id, contact_id);

-- Who changed a subscription, and how. Outlives the event of the same change.
create table consents (
  project_id uuid not null,
  contact_id uuid not null,
  id uuid not null,
  subscribed boolean not null,
  source text not null,
  details jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (project_id, contact_id, id)
);

-- Counts --------------------------------------------------------------------------------------------------------------

-- Counts are sums, and deltas that are not added to them yet: writers append, so that they never wait for each other.
create table contact_count_deltas (
  project_id uuid not null,
  id bigint generated always as identity,
  total int not null default 0,
  subscribed int not null default 0,
  -- What happened, on which UTC day and by which source.
  day date,
  source text,
  created int not null default 0,
  created_subscribed int not null default 0,
  opted_in int not null default 0,
  opted_out int not null default 0,
  -- As in contact_days.
  deleted int not null default 0,
  gone_created int not null default 0,
  gone_created_subscribed int not null default 0,
  gone_opted_in int not null default 0,
  gone_opted_out int not null default 0,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
create table contact_counts (
  project_id uuid primary key,
  total bigint not null,
  subscribed bigint not null
);

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

-- Fields --------------------------------------------------------------------------------------------------------------

-- Every key ever seen in `data`, with the type of its first value.
create table contact_fields (
  project_id uuid not null,
  key text not null,
  type text not null check (type in ('number', 'boolean', 'date', 'string')),
  -- How many contacts have it, as last counted.
  contacts int not null default 0,
  counted_at timestamptz,
  primary key (project_id, key)
);

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
