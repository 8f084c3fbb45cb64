-- Templates -----------------------------------------------------------------------------------------------------------

create table templates (
  project_id uuid not null,
  id uuid not null,
  name text not null,
  description text,
  subject text not null,
  -- Text that inboxes show beside the subject; it is hidden in the email itself. Null: none.
  preview_text text,
  body text not null,
  from_address text,
  from_name text,
  reply_to text,
  type text not null check (type in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  version int not null default 1,
  -- Who saved this version: null for an API key.
  saved_by uuid,
  saved_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
);

-- What a template was before a change of its content. The newest version is the template itself.
create table template_versions (
  project_id uuid not null,
  template_id uuid not null,
  version int not null,
  subject text not null,
  preview_text text,
  body text not null,
  from_address text,
  from_name text,
  reply_to text,
  type text not null,
  saved_by uuid,
  saved_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (project_id, template_id, version)
);

-- Rendered previews of unsaved content, for the frame that shows them. Unlogged: each is read once, within seconds.
create unlogged table preview_pages (
  project_id uuid not null,
  id uuid not null,
  html text not null,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
create index preview_pages_age on preview_pages (created_at);

-- Sender domains ------------------------------------------------------------------------------------------------------

create table domains (
  -- Cascades: a deleted project must not hold a name, not even by a request that commits after its rows were wiped.
  project_id uuid not null references projects on delete cascade,
  id uuid not null,
  -- Lower-case ASCII (IDNA). One holder over all projects; see domains/add.ts for how a name is taken over.
  domain text collate "C" not null unique,
  status text not null default 'pending' check (status in ('pending', 'verified', 'failed')),
  -- 'sandbox' counts only as long as no email leaves this installation.
  verified_by text check (verified_by in ('dns', 'ses', 'sandbox')),
  verified_at timestamptz,
  pending_since timestamptz not null default now(),
  dkim_selector text not null,
  dkim_public_key text not null,
  dkim_private_key_sealed bytea not null,
  -- Domains whose keys are Amazon's: three names to publish, and the zone they point to.
  ses_tokens jsonb not null default '[]',
  ses_zone text,
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

-- Uploads -------------------------------------------------------------------------------------------------------------

-- Uploaded images: which file is whose. A row is written once its file is stored, so none ever points nowhere.
create table uploads (
  project_id uuid not null,
  id uuid not null,
  -- The name of the file, and the last part of its address.
  key text not null,
  content_type text not null,
  size int not null,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
