-- API keys besides the pair of a project. `version` moves with every change, so that a cached key can be checked in the transaction that uses it.
create table api_keys (
  project_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('secret', 'public')),
  name text not null,
  -- Null for public keys.
  scopes text[],
  -- Null: every verified domain of the project.
  sender_domains text[],
  -- CIDRs. Null: from anywhere.
  networks text[],
  expires_at timestamptz,
  -- The beginning of the current key, to recognise it by.
  prefix text not null,
  version int not null default 1,
  created_by uuid,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);

-- The current key, and until its grace period ends the one before the last rotation. Sealed too, so that a new SECRET_KEY can hash it anew.
create table api_key_hashes (
  project_id uuid not null,
  key_id uuid not null,
  id uuid not null,
  hash bytea not null unique,
  sealed bytea not null,
  -- Null: the current one.
  valid_until timestamptz,
  primary key (project_id, key_id, id),
  foreign key (project_id, key_id) references api_keys on delete cascade
);
create unique index api_key_hashes_current on api_key_hashes (project_id, key_id) where valid_until is null;

-- When a key was last used, to the minute.
create table api_key_uses (
  project_id uuid not null,
  key_id uuid not null,
  used_at timestamptz not null,
  primary key (project_id, key_id),
  foreign key (project_id, key_id) references api_keys on delete cascade
);
