-- What only the request knew is cleared when an email has ended, and 7 days after it failed. Null: cleared.
alter table emails alter column vars drop not null;
comment on column emails.vars is 'What the request alone knew. Null: cleared.';

-- Emails that have ended and still have it: failed ones, and those of before this migration. Only columns that change together with the
-- state, so that counting an open stays a heap-only update.
create index emails_with_vars on emails (id) where state in ('sent', 'failed', 'skipped', 'cancelled') and vars <> '{}';

alter table emails add column resent_from uuid;
create index emails_resent on emails (project_id, resent_from) where resent_from is not null;
