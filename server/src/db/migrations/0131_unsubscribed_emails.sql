-- sterna: no transaction
-- Emails by whose link a contact unsubscribed: a rare fact, as those of 0017.
create index concurrently if not exists emails_unsubscribed on emails (project_id, id) where unsubscribed_at is not null;
