-- When an email is to be sent, if not at once. Until then it is deferred with this `due_at`; all ages count from it.
alter table emails add column send_at timestamptz;
-- Upcoming emails of a project. Only those that wait for their time are in it.
create index emails_scheduled on emails (project_id, send_at) where state = 'deferred' and attempts = 0 and send_at is not null;

-- From when the lifetime of a key counts, if not from its creation: that of a scheduled email counts from `send_at`.
alter table idempotency_keys add column lives_from timestamptz;
