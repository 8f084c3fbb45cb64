-- sterna: no transaction
-- Emails that have ended and still have request data: failed ones, and those of before it was cleared. Only columns that change together
-- with the state, so that counting an open stays a heap-only update.
create index concurrently if not exists emails_with_vars on emails (id) where state in ('sent', 'failed', 'skipped', 'cancelled') and vars <> '{}';
create index concurrently if not exists emails_resent on emails (project_id, resent_from) where resent_from is not null;
