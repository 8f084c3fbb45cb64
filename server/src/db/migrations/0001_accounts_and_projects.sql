-- Accounts ------------------------------------------------------------------------------------------------------------

create table users (
  id uuid primary key,
  email text not null unique,
  password_hash text not null,
  email_verified_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- Only hashes: a copy of this table signs nobody in.
create table sessions (
  token_hash bytea primary key,
  user_id uuid not null references users on delete cascade,
  network text not null,
  user_agent text,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);

create table user_tokens (
  token_hash bytea primary key,
  user_id uuid not null references users on delete cascade,
  purpose text not null check (purpose in ('verify-email', 'reset-password')),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- A newer link replaces the older one.
  unique (user_id, purpose)
);
create index user_tokens_expiry on user_tokens (expires_at);

-- Failed sign-ins and the like, counted in fixed windows. The subject is a keyed hash of an address or IP.
create table attempts (
  scope text not null,
  subject bytea not null,
  window_ends_at timestamptz not null,
  count int not null,
  primary key (scope, subject)
);
create index attempts_expiry on attempts (window_ends_at);

-- Mails to account holders, written in the transaction that causes them. The text holds one-time links, so it is sealed.
create table account_mails (
  id uuid primary key,
  recipient text not null,
  subject text not null,
  sealed_text bytea not null,
  created_at timestamptz not null default now()
);
create index account_mails_age on account_mails (created_at);

-- Tenants -------------------------------------------------------------------------------------------------------------

create table projects (
  id uuid primary key,
  name text not null,
  public_key_hash bytea not null unique,
  secret_key_hash bytea not null unique,
  public_key_sealed bytea not null,
  secret_key_sealed bytea not null,
  -- Moves with every rotation, so that a cached key can be checked in the transaction that uses it.
  key_version int not null default 1,
  disabled boolean not null default false,
  disabled_reason text,
  tracking text not null default 'ENABLED' check (tracking in ('ENABLED', 'DISABLED', 'MARKETING_ONLY')),
  language text not null default 'en',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Gone for everyone from this moment; its rows follow in the background.
  deleted_at timestamptz
);

create table memberships (
  project_id uuid not null references projects on delete cascade,
  user_id uuid not null references users on delete cascade,
  role text not null check (role in ('OWNER', 'ADMIN', 'MEMBER')),
  created_at timestamptz not null default now(),
  primary key (project_id, user_id)
);
create index memberships_user on memberships (user_id);
create unique index memberships_one_owner on memberships (project_id) where role = 'OWNER';

create table invitations (
  project_id uuid not null references projects on delete cascade,
  id uuid not null,
  email text not null,
  role text not null check (role in ('ADMIN', 'MEMBER')),
  token_hash bytea not null unique,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (project_id, id),
  unique (project_id, email)
);
create index invitations_email on invitations (email);

-- What a reset or a deletion still has to remove: everything of the project that is older than this row.
create table project_wipes (
  project_id uuid primary key references projects on delete cascade,
  requested_at timestamptz not null default now()
);

-- HTTP ----------------------------------------------------------------------------------------------------------------

-- Exists exactly when the work it stands for does: both commit together.
create table idempotency_keys (
  project_id uuid not null references projects on delete cascade,
  key text not null,
  request text not null,
  status_code int not null,
  result jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (project_id, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

-- Nodes lease shares of a project's requests per minute from here, so most requests never touch it.
create table rate_windows (
  project_id uuid primary key references projects on delete cascade,
  started_at timestamptz not null,
  leased int not null,
  -- How much of that the latest lease got: the answer to a node must say what is its own.
  granted int not null
);

-- One row: proves that this SECRET_KEY is the one the stored keys were sealed with.
create table instance (
  singleton boolean primary key default true check (singleton),
  secret_check bytea not null,
  created_at timestamptz not null default now()
);
