-- The installation ----------------------------------------------------------------------------------------------------

create table instance (
  -- One row.
  singleton boolean primary key default true check (singleton),
  -- Hashes by the keys that stored values may be sealed with: every node must have all of these keys.
  secret_checks bytea[] not null,
  -- How email leaves this installation. Null until the first node that knows it has started. Every node must agree with it, see
  -- db/join.ts.
  transport text check (transport in ('sandbox', 'smtp', 'ses')),
  created_at timestamptz not null default now()
);

-- Accounts ------------------------------------------------------------------------------------------------------------

create table users (
  id uuid primary key,
  email text not null unique,
  password_hash text not null,
  email_verified_at timestamptz,
  operator boolean not null default false,
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

-- Emails to account holders, written in the transaction that causes them. They leave the same way as those of customers.
create table account_mails (
  id uuid primary key,
  recipient text not null,
  subject text not null,
  -- Holds one-time links.
  sealed_text bytea not null,
  -- Kept: no sender is configured, or no email leaves this machine.
  state text not null default 'kept' check (state in ('kept', 'queued', 'sending', 'sent', 'failed', 'unknown')),
  -- A kept email is sent once there is a sender, unless its link has expired.
  link_expires_at timestamptz not null,
  message_token text not null,
  attempts int not null default 0,
  failures smallint not null default 0,
  due_at timestamptz not null default now(),
  worker int,
  handed_over_at timestamptz,
  error text,
  created_at timestamptz not null default now()
);
create index account_mails_queue on account_mails (due_at) where state = 'queued';
create index account_mails_held on account_mails (worker) where state = 'sending';
create index account_mails_kept on account_mails (link_expires_at) where state = 'kept';
create index account_mails_recipient on account_mails (recipient);
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
  -- IANA name of the time zone in which people of the project read figures.
  timezone text not null default 'UTC',
  -- At the billing provider.
  customer text,
  subscription text,
  currency text,
  billing_limit_workflows bigint,
  billing_limit_campaigns bigint,
  billing_limit_transactional bigint,
  billing_limit_inbound bigint,
  -- The period of the subscription. Null: calendar months.
  period_start timestamptz,
  period_end timestamptz,
  -- Numbers the look-ups of the subscription: only the latest is stored.
  billing_check int not null default 0,
  -- Subscriptions that ended until then are settled: their usage was written as reports.
  settled_to timestamptz,
  -- The last reset: emails accepted before it are gone, but counted.
  reset_at timestamptz,
  -- When emails were last removed by their age: what happened before that cannot be counted anew.
  emails_removed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Gone for everyone from this moment; its rows follow in the background.
  deleted_at timestamptz
);
-- A return path has room for the end of a project's id only; the signature says which of those that end so is meant.
create index projects_by_ending on projects (right(id::text, 8));
create unique index projects_customer on projects (customer) where customer is not null;

-- When a key was last used, to the minute. The version tells the use of a key from that of the one before it.
create table key_usage (
  project_id uuid not null,
  kind text not null check (kind in ('pk', 'sk')),
  key_version int not null,
  used_at timestamptz not null,
  primary key (project_id, kind)
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
