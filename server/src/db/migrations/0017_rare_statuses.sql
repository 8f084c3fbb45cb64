-- sterna: no transaction
-- One page of a rare status without reading every email of the project. Emails that were sent and nothing else are in none of them.
create index concurrently if not exists emails_failed on emails (project_id, id) where state = 'failed';
create index concurrently if not exists emails_skipped on emails (project_id, id) where state in ('skipped', 'cancelled');
create index concurrently if not exists emails_bounced on emails (project_id, id) where bounced_at is not null;
create index concurrently if not exists emails_complained on emails (project_id, id) where complained_at is not null;
create index concurrently if not exists emails_clicked on emails (project_id, id) where clicked_at is not null;
create index concurrently if not exists emails_opened on emails (project_id, id) where opened_at is not null;
-- Emails to wake when the pause of a sender domain ends.
create index concurrently if not exists emails_paused on emails (project_id, due_at) where state = 'deferred' and error_code = 'domain_paused';
