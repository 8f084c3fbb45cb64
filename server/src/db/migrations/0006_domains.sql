-- Sender domains ------------------------------------------------------------------------------------------------------

create table domains (
  -- Cascades: a deleted project must not hold a name, not even by a request that commits after its rows were wiped.
  project_id uuid not null references projects on delete cascade,
  id uuid not null,
  -- Lower-case ASCII (IDNA). One holder over all projects; see domains/add.ts for how a name is taken over.
  domain text collate "C" not null unique,
  status text not null default 'pending' check (status in ('pending', 'verified', 'failed')),
  -- 'sandbox' counts only as long as no mail leaves this installation.
  verified_by text check (verified_by in ('dns', 'sandbox')),
  verified_at timestamptz,
  pending_since timestamptz not null default now(),
  dkim_selector text not null,
  dkim_public_key text not null,
  dkim_private_key_sealed bytea not null,
  -- What the latest check found, record by record.
  findings jsonb not null default '[]',
  last_error text,
  last_checked_at timestamptz,
  -- Checks in a row that found a required record missing. Look-ups without an answer do not count.
  failures int not null default 0,
  -- Null: only when someone asks.
  next_check_at timestamptz default now(),
  -- A check settles its result only if it is still the latest one that began.
  check_number int not null default 0,
  check_began_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id),
  check ((status = 'verified') = (verified_by is not null)),
  check ((status = 'verified') = (verified_at is not null))
);
create index domains_due on domains (next_check_at);
