create table campaigns (
  project_id uuid not null,
  id uuid not null,
  name text not null,
  description text,
  subject text not null,
  body text not null,
  preview_text text,
  from_address text not null,
  from_name text,
  reply_to text,
  type text not null check (type in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  -- Where the content came from. It is not read again.
  template_id uuid,
  audience_type text not null check (audience_type in ('ALL', 'SEGMENT', 'FILTERED')),
  segment_id uuid,
  audience_condition jsonb,
  -- What the audience mentions, as in segments: usage and references are found without reading trees of 64 KB.
  uses jsonb not null default '{}',
  rate_per_minute int,
  status text not null default 'DRAFT' check (status in ('DRAFT', 'SCHEDULED', 'SENDING', 'SENT', 'CANCELLED')),
  scheduled_for timestamptz,
  started_at timestamptz,
  -- The user or key that sent or scheduled it.
  started_by jsonb,
  -- When it became SENT.
  sent_at timestamptz,
  -- A pause that needs a resume: by a person, a spike or a limit. Others follow from other tables.
  paused_at timestamptz,
  paused_reason text check (paused_reason in ('person', 'spike', 'billing_limit', 'audience_failed')),
  -- Pauses for a spike look only at emails sent since then.
  resumed_at timestamptz,
  -- What was frozen at the start. The content is a row in contents; the audience holds the condition and every segment it refers to.
  content_id uuid,
  frozen_audience jsonb,
  -- The last contact that the freeze has looked at; null before the first page.
  freeze_cursor uuid,
  -- The next page of recipients: when it is due, how many contacts it looks at, and the attempts that failed since the last page. All workers
  -- share them, and they outlive a worker.
  freeze_due_at timestamptz not null default '-infinity',
  freeze_page int not null default 5000,
  freeze_attempts int not null default 0,
  frozen_at timestamptz,
  -- Recipients that are not written yet and counted against the cap of the project: all of them, or those of the next page.
  reserved int,
  reserved_for text check (reserved_for in ('all', 'page')),
  -- The failed emails that a resend has yet to queue again.
  resending text check (resending in ('failed', 'failed_or_unknown')),
  -- Set when no recipient is open and the counters were recounted.
  settled_at timestamptz,
  recounted_at timestamptz,
  total_recipients int not null default 0,
  sent_count int not null default 0,
  delivered_count int not null default 0,
  opened_count int not null default 0,
  clicked_count int not null default 0,
  machine_opened_count int not null default 0,
  machine_clicked_count int not null default 0,
  bounced_count int not null default 0,
  complained_count int not null default 0,
  unsubscribed_count int not null default 0,
  failed_count int not null default 0,
  skipped_count int not null default 0,
  excluded_unsubscribed int not null default 0,
  excluded_suppressed int not null default 0,
  excluded_invalid int not null default 0,
  -- Emails are removed by age (EMAIL_RETENTION_MONTHS). Before the first email of a campaign goes, its counters are closed: from then on
  -- nothing counts its emails anew.
  counters_closed_at timestamptz,
  -- What is otherwise read from emails: those refused during transmission, and the clicks of each link.
  closed_refused_count int,
  closed_links jsonb,
  -- Hidden at once; its excluded contacts and audit rows are deleted in pages, then the row.
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
) with (fillfactor = 70);
-- The few that a worker has something to do with.
create index campaigns_due on campaigns (scheduled_for) where status = 'SCHEDULED';
-- The schedules of each project: those of a project with many must not hide those of others.
create index campaigns_due_of_project on campaigns (project_id, scheduled_for) where status = 'SCHEDULED';
create index campaigns_at_work on campaigns (project_id, id) where status = 'SENDING' or status = 'CANCELLED' and settled_at is null or deleted_at is not null;
-- The campaigns of each project whose recipients are being written, by the time of their next page.
create index campaigns_unfrozen on campaigns (project_id, freeze_due_at)
  where status = 'SENDING' and frozen_at is null and (paused_reason is null or paused_reason not in ('billing_limit', 'audience_failed'));
create index campaigns_of_template on campaigns (project_id, template_id) where template_id is not null;

-- Contacts that matched the audience and may not get the email, with the reason.
create table campaign_excluded (
  project_id uuid not null,
  campaign_id uuid not null,
  contact_id uuid not null,
  address text not null,
  reason text not null check (reason in ('unsubscribed', 'suppressed', 'invalid')),
  created_at timestamptz not null default now(),
  primary key (project_id, campaign_id, contact_id)
);

-- Who started, paused, resumed, cancelled or resent a campaign. Rows are only added.
create table campaign_audit (
  project_id uuid not null,
  campaign_id uuid not null,
  id uuid not null,
  action text not null,
  -- user, key or system.
  actor text not null,
  user_id uuid,
  details jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (project_id, campaign_id, id)
);

-- Counters ------------------------------------------------------------------------------------------------------------

-- What happened to the emails of a campaign, by the minute it was counted in: a spike of bounces or complaints pauses the campaign. Rows
-- are deleted after an hour.
create table campaign_minutes (
  project_id uuid not null,
  campaign_id uuid not null,
  minute timestamptz not null,
  sent int not null,
  failed int not null,
  bounced int not null,
  complained int not null,
  primary key (project_id, campaign_id, minute)
);
create index campaign_minutes_by_age on campaign_minutes (minute);
