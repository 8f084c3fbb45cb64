-- Mail ----------------------------------------------------------------------------------------------------------------

-- What is said: once per request to send, revision of a template, or campaign. Rendered mails are never stored.
create table contents (
  project_id uuid not null,
  id uuid not null,
  type text not null check (type in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  subject text not null,
  body text not null,
  from_address text not null,
  from_name text,
  reply_to text,
  headers jsonb not null default '{}',
  template_id uuid,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);

create index contents_by_template on contents (project_id, template_id) where template_id is not null;

-- Deleted some days after the last mail of their content has ended.
create table attachments (
  project_id uuid not null,
  content_id uuid not null,
  position int not null,
  filename text not null,
  content_type text not null,
  cid text,
  inline boolean not null,
  bytes bytea not null,
  primary key (project_id, content_id, position)
);
alter table attachments alter column bytes set storage external;

-- The queue and the record of every mail. `state` is how far sending came; what happened to it afterwards are times of their own.
create table emails (
  project_id uuid not null,
  id uuid not null,
  content_id uuid not null,
  -- Null when the contact is gone. The row stays: it is the proof of what was sent.
  contact_id uuid,
  to_address text not null,
  to_name text,
  -- What the request alone knew; the rest is read from the contact when it is sent.
  vars jsonb not null default '{}',
  source_type text not null check (source_type in ('TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'INBOUND')),
  campaign_id uuid,
  workflow_execution_id uuid,
  -- The same on every attempt, so that a receiver can tell a repetition.
  message_id text not null,
  state text not null default 'queued'
    check (state in ('queued', 'deferred', 'sending', 'unknown', 'sent', 'failed', 'skipped', 'cancelled')),
  -- 0 before 1: transactional mail never waits for a campaign.
  lane smallint not null check (lane in (0, 1)),
  stream_id uuid not null,
  -- Counts every time it was taken; with the worker it is the fence against those who wake up late.
  attempts int not null default 0,
  worker int,
  -- Set, and committed, before the last byte is written. From then on the outcome may be unknown.
  handed_over_at timestamptz,
  unknown_since timestamptz,
  -- How often it was tried again without knowing what became of the attempt before: at most once.
  retried_unknown boolean not null default false,
  -- How often the process that had it died before handing it over.
  crashes smallint not null default 0,
  -- Attempts that count towards giving up: those a receiver or the network made fail.
  failures smallint not null default 0,
  first_failed_at timestamptz,
  due_at timestamptz,
  error text,
  provider_id text,
  sent_at timestamptz,
  delivered_at timestamptz,
  opened_at timestamptz,
  clicked_at timestamptz,
  bounced_at timestamptz,
  complained_at timestamptz,
  opens int not null default 0,
  clicks int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
) with (fillfactor = 80, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02);
-- Streams side by side, each in its order: the claim steps from one to the next.
create index emails_queue on emails (lane, project_id, stream_id, id) where state = 'queued';
-- The few that processes died with.
create index emails_suspicious on emails (id) where state = 'queued' and crashes >= 3;
create index emails_due on emails (due_at) where state = 'deferred';
create index emails_held on emails (worker) where state = 'sending';
create index emails_unknown on emails (unknown_since) where state = 'unknown';
create index emails_by_contact on emails (project_id, contact_id, id);
create unique index emails_of_campaign on emails (project_id, campaign_id, contact_id) where campaign_id is not null;
create index emails_by_content on emails (project_id, content_id);

-- A process that sends. It lives as long as it holds its lock; should a whole machine freeze, until its lease ends.
create table senders (
  worker int primary key,
  lease_until timestamptz not null
);

-- Nobody sends to these any more. Written by bounces and complaints.
create table suppressions (
  project_id uuid not null,
  address text collate "C" not null,
  reason text not null,
  created_at timestamptz not null default now(),
  primary key (project_id, address)
);

-- Mails to account holders leave the same way. Kept: nobody said from whom, or nothing leaves this machine.
alter table account_mails
  add column state text not null default 'kept' check (state in ('kept', 'queued', 'sending', 'sent', 'failed', 'unknown')),
  add column message_token text,
  add column attempts int not null default 0,
  add column failures smallint not null default 0,
  add column due_at timestamptz not null default now(),
  add column worker int,
  add column handed_over_at timestamptz,
  add column error text;
create index account_mails_queue on account_mails (due_at) where state = 'queued';
create index account_mails_held on account_mails (worker) where state = 'sending';

-- Sandbox: mails that would have been sent.
create table sandbox_messages (
  project_id uuid not null,
  id uuid not null,
  email_id uuid not null,
  recipient text not null,
  sender text not null,
  subject text not null,
  source bytea not null,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
