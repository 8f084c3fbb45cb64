-- The next page of recipients: when it is due, how many contacts it looks at, and the attempts that failed since the last page. All workers
-- share them, and they outlive a worker.
alter table campaigns
  add column freeze_due_at timestamptz not null default '-infinity',
  add column freeze_page int not null default 5000,
  add column freeze_attempts int not null default 0;

alter table campaigns drop constraint campaigns_paused_reason_check;
alter table campaigns add constraint campaigns_paused_reason_check
  check (paused_reason in ('person', 'spike', 'billing_limit', 'audience_failed'));

-- The campaigns of each project whose recipients are being written, by the time of their next page.
create index campaigns_unfrozen on campaigns (project_id, freeze_due_at)
  where status = 'SENDING' and frozen_at is null and (paused_reason is null or paused_reason not in ('billing_limit', 'audience_failed'));

-- The schedules of each project: those of a project with many must not hide those of others.
create index campaigns_due_of_project on campaigns (project_id, scheduled_for) where status = 'SCHEDULED';
