-- Contents ------------------------------------------------------------------------------------------------------------

-- Subject, body and sender: one row per request to send, revision of a template, or campaign. Rendered messages are never stored.
create table contents (
  project_id uuid not null,
  id uuid not null,
  type text not null check (type in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  subject text not null,
  preview_text text,
  body text not null,
  from_address text not null,
  from_name text,
  reply_to text,
  headers jsonb not null default '{}',
  -- The template that the content was made from, and its version then.
  template_id uuid,
  template_version int,
  -- Tells a received message that is sent again from another one under the same Message-ID. Null for what is sent.
  fingerprint bytea,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
-- Where it can be had: packing a body took the default method longer than everything else about accepting an email.
do $$ begin
  alter table contents alter column body set compression lz4;
exception when feature_not_supported then null;
end $$;
create index contents_by_template on contents (project_id, template_id) where template_id is not null;

-- Deleted some days after the last email of their content has ended.
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

-- Emails --------------------------------------------------------------------------------------------------------------

-- The queue and the record of every email. `state` is how far sending came; what happened to it afterwards are times of their own.
create table emails (
  project_id uuid not null,
  id uuid not null,
  content_id uuid not null,
  -- Null when the contact is gone. The row stays: it is the proof of what was sent.
  contact_id uuid,
  to_address text not null,
  to_name text,
  -- The email goes to the address that its contact has when it is handed over. False from the first mark on: `to_address` is then the
  -- address that was used.
  follows_contact boolean not null default false,
  -- What the request alone knew; the rest is read from the contact when it is sent. Null: cleared, as the email has ended, or 7 days after it
  -- failed.
  vars jsonb default '{}',
  -- An email of a workflow to an address of its own: the variables are those of the execution's contact alone, stored in `vars`, and nothing
  -- of the recipient's data.
  only_vars boolean not null default false,
  -- As rendered, when it differs from the content's.
  subject text,
  source_type text not null check (source_type in ('TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW', 'INBOUND')),
  campaign_id uuid,
  workflow_execution_id uuid,
  -- Executions are deleted by their age; the emails stay.
  workflow_id uuid,
  -- Sent by a person to see an email. Not tracked, and outside events, counts and billing. Has no contact: one with its address is read
  -- when it is sent.
  test boolean not null default false,
  -- Whether the email is in the counts of usage. Null: a test, or in the sandbox.
  metered boolean,
  resent_from uuid,
  -- X-Request-ID of the call that sent the email.
  request_id text,
  -- The same on every attempt, so that a receiver can tell a repetition.
  message_id text not null,
  state text not null default 'queued'
    check (state in ('queued', 'deferred', 'sending', 'unknown', 'sent', 'failed', 'skipped', 'cancelled')),
  -- 0 before 1: transactional email never waits for a campaign.
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
  -- How often rendering or building it ran out of time.
  timeouts smallint not null default 0,
  -- Attempts that ended before the end of the message because the email was not permitted to leave. They are in `attempts`, and are
  -- subtracted where attempts are shown.
  put_back smallint not null default 0,
  -- Attempts that count towards giving up: those a receiver or the network made fail.
  failures smallint not null default 0,
  first_failed_at timestamptz,
  due_at timestamptz,
  -- When a failed email was queued again by a resend of its campaign. Its expiry counts from then.
  requeued_at timestamptz,
  error text,
  -- The class of `error`, from a documented list.
  error_code text,
  provider_id text,
  sent_at timestamptz,
  delivered_at timestamptz,
  opened_at timestamptz,
  clicked_at timestamptz,
  bounced_at timestamptz,
  complained_at timestamptz,
  -- When its recipient unsubscribed by a link of this very email.
  unsubscribed_at timestamptz,
  opens int not null default 0,
  clicks int not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
) with (
  fillfactor = 80,
  -- Every email is written four times. Vacuumed by the share of rows that is the default, a small table was gone through every ten seconds,
  -- and a large one only after claims had walked past hundreds of thousands of emails that no longer wait.
  autovacuum_vacuum_threshold = 50000, autovacuum_vacuum_scale_factor = 0.05,
  -- Gathering the planner's statistics takes half a second, and while emails were sent it was done every ten. No statement of sending
  -- depends on them.
  autovacuum_analyze_threshold = 50000, autovacuum_analyze_scale_factor = 0.05
);
-- The outbox. Streams side by side, each in its order: the claim steps from one to the next.
create index emails_queue on emails (lane, project_id, stream_id, id) where state = 'queued';
-- The few that processes died with.
create index emails_suspicious on emails (id) where state = 'queued' and crashes >= 3;
create index emails_due on emails (due_at) where state = 'deferred';
-- Emails to wake when the pause of a sender domain ends.
create index emails_paused on emails (project_id, due_at) where state = 'deferred' and error_code = 'domain_paused';
create index emails_held on emails (worker) where state = 'sending';
create index emails_unknown on emails (unknown_since) where state = 'unknown';
-- Failed emails that still have request data. Only columns that change together with the state, so that counting an open stays a heap-only
-- update.
create index emails_with_vars on emails (id) where state = 'failed' and vars <> '{}';
-- Who sends a message again because our answer was lost: the same message to the same address is one email.
create unique index emails_received_once on emails (project_id, to_address, message_id) where source_type = 'INBOUND';

create index emails_by_contact on emails (project_id, contact_id, id);
create index emails_by_content on emails (project_id, content_id);
-- Emails to a recipient domain, newest first. The only further index that has every email: docs/decisions/0013.
create index emails_by_domain on emails (project_id, split_part(to_address, '@', 2), id);
create unique index emails_of_campaign on emails (project_id, campaign_id, contact_id) where campaign_id is not null;
-- Emails of a campaign that wait for a time or an outcome: neither queued nor on their way. Few, and none in the ordinary course.
create index emails_waiting_of_campaign on emails (project_id, campaign_id)
  where campaign_id is not null and state in ('deferred', 'unknown');
create index emails_of_execution on emails (project_id, workflow_execution_id) where workflow_execution_id is not null;
create index emails_resent on emails (project_id, resent_from) where resent_from is not null;
-- Request ids that callers gave. Ids of our own contain the time, near which their emails are found by their own ids.
create index emails_by_given_request on emails (project_id, request_id)
  where request_id !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7';

-- One page of a rare status without reading every email of the project. Emails that were sent and nothing else are in none of them.
create index emails_failed on emails (project_id, id) where state = 'failed';
create index emails_skipped on emails (project_id, id) where state in ('skipped', 'cancelled');
-- Emails that wait for a retry or an outcome. An email that is sent at the first attempt is never in it.
create index emails_waiting on emails (project_id, id) where state in ('deferred', 'unknown');
create index emails_bounced on emails (project_id, id) where bounced_at is not null;
create index emails_complained on emails (project_id, id) where complained_at is not null;
create index emails_clicked on emails (project_id, id) where clicked_at is not null;
create index emails_opened on emails (project_id, id) where opened_at is not null;
create index emails_unsubscribed on emails (project_id, id) where unsubscribed_at is not null;
create index emails_received on emails (project_id, id) where source_type = 'INBOUND';

-- What is remembered of the opens and clicks of an email, to tell people from machines and to bound what is written.
create table email_hits (
  project_id uuid not null,
  email_id uuid not null,
  -- Events written so far, of people and of machines.
  events int not null default 0,
  machine_events int not null default 0,
  -- Whether machines have opened or clicked it, to count each email once.
  machine_opened boolean not null default false,
  machine_clicked boolean not null default false,
  -- The first time of each, so that it can be counted anew in its hour.
  machine_opened_at timestamptz,
  machine_clicked_at timestamptz,
  -- The hits of the last minute: kind, link, time, and keyed hashes of where they came from.
  recent jsonb not null default '[]',
  primary key (project_id, email_id)
) with (fillfactor = 80);

-- Sending -------------------------------------------------------------------------------------------------------------

-- A process that sends. It lives as long as it holds its lock; should a whole machine freeze, until its lease ends.
create table senders (
  worker int primary key,
  lease_until timestamptz not null,
  -- Why it sends no faster: the rate that emails had to wait for in the last seconds. Null if none had to.
  slowed_by text
);

-- The state of a campaign's stream, as the outbox sees it. The id is that of the campaign and the `stream_id` of its emails. A stream
-- without a row is never paused: transactional emails, and those of workflows.
create table streams (
  project_id uuid not null,
  id uuid not null,
  lane smallint not null default 1 check (lane in (0, 1)),
  -- Sending waits while this domain is not verified or is paused.
  from_domain text not null,
  paused_at timestamptz,
  cancelled_at timestamptz,
  -- Its emails expire some days after this time at the earliest: they have waited for a person or a rate until then.
  expiry_from timestamptz not null default now(),
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
-- Streams whose emails are still to be cancelled.
create index streams_cancelled on streams (project_id, id) where cancelled_at is not null;

-- A table of its own: a claim locks this row, and a mark the row in `streams`. In one row they would keep each other waiting.
create table stream_rates (
  project_id uuid not null,
  id uuid not null,
  per_minute int not null check (per_minute > 0),
  -- The time since then has not been used: it is worth `per_minute` emails a minute.
  unused_since timestamptz not null default now(),
  primary key (project_id, id)
);

-- What is paused because a relay or service refuses it, shared by all workers. The provider as a whole has the nil project and no domain.
create table sending_pauses (
  project_id uuid not null,
  domain text not null,
  reason text not null,
  -- What a pause of the provider is known to come from. Null if only its reply is known.
  cause text check (cause = 'quota'),
  -- The refusal without what names a single email: the same one for two projects means the provider.
  fingerprint text,
  failed_probes int not null default 0,
  since timestamptz not null default now(),
  until timestamptz not null,
  -- One email may be sent after `until`; the worker that sends it has until then to say how it went.
  probe_until timestamptz,
  -- The domain is paused for equal refusals: a held email and another one are sent to find out what they are about.
  verifies boolean not null default false,
  -- Has already counted towards a pause of the provider.
  escalated boolean not null default false,
  primary key (project_id, domain)
);

-- Refusals of recipients whose consequences are not written yet: whether they are about the recipients or about us is still being found out.
create table held_refusals (
  project_id uuid not null,
  email_id uuid not null,
  -- The sender domain.
  domain text not null,
  -- The reply without what names a single email. Equal replies have the same.
  fingerprint text not null,
  reply text not null,
  -- A hard bounce, unless the reply turns out to be about us.
  unknown_recipient boolean not null,
  -- In the order of settlement.
  place bigint generated always as identity,
  held_at timestamptz not null default now(),
  primary key (project_id, email_id)
);
create index held_refusals_by_reply on held_refusals (project_id, domain, fingerprint, place);

-- Equal replies since the last accepted recipient of a sender domain. An accepted recipient deletes the row.
create table refusal_streaks (
  project_id uuid not null,
  domain text not null,
  fingerprint text not null,
  replies int not null,
  -- Held refusals with a lower place were followed by an accepted recipient.
  first_place bigint not null,
  last_at timestamptz not null default now(),
  primary key (project_id, domain, fingerprint)
);

-- Sandbox: messages that would have been sent.
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

-- Feedback ------------------------------------------------------------------------------------------------------------

-- Addresses that get no more email from the project. 'manual': the customer said so.
create table suppressions (
  project_id uuid not null,
  -- May also be '@' and a domain: then no address there gets email.
  address text collate "C" not null,
  reason text not null constraint suppressions_reason check (reason in ('bounce', 'complaint', 'manual')),
  created_at timestamptz not null default now(),
  primary key (project_id, address)
);
create index suppressions_newest on suppressions (project_id, created_at, address);
create index suppressions_by_reason on suppressions (project_id, reason, created_at, address);

-- Emails that came back for a reason that may pass. Many of them without a delivery, and the address is suppressed.
create table soft_bounces (
  project_id uuid not null,
  address text collate "C" not null,
  email_id uuid not null,
  -- Something was delivered since, or the suppression was lifted: counts no more. The row stays, so that an email counts once.
  forgiven boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (project_id, address, email_id)
);
create index soft_bounces_oldest on soft_bounces (created_at);

-- Notifications of a mail provider as they came, once by the provider's own id; kept for some weeks. Whose email one is about is known only
-- once it was read.
create table provider_notifications (
  id text collate "C" primary key,
  message text not null,
  received_at timestamptz not null default now(),
  -- When to apply it. Null: that is over.
  due_at timestamptz default now(),
  tries smallint not null default 0,
  -- What it said, of which email, and why nothing followed if nothing did.
  kind text,
  project_id uuid,
  email_id uuid,
  details jsonb,
  error text
);
create index provider_notifications_due on provider_notifications (due_at) where due_at is not null;
create index provider_notifications_received on provider_notifications (received_at);
create index provider_notifications_of_email on provider_notifications (project_id, email_id) where project_id is not null;

-- The ledger of emails ------------------------------------------------------------------------------------------------

-- What happened to emails and is not added up yet: appended by the statement that changes the emails, so that no row is written by every
-- request. One column per consumer: each takes what it adds up, and a row without any of them is deleted.
create table email_ledger (
  project_id uuid not null,
  id bigint generated always as identity,
  kind text not null,
  -- Emails; negative when an outcome was corrected.
  n int not null,
  -- For usage: the source of emails that were accepted or skipped.
  source text,
  -- For the counts of usage and reputation: the hour in which they count.
  hour timestamptz,
  -- For the counters of this campaign.
  campaign_id uuid,
  -- For the roll-ups of analytics.
  email_ids uuid[],
  created_at timestamptz not null default now(),
  primary key (project_id, id)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 100000);
