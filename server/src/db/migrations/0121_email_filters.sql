-- sterna: no transaction
-- Emails to a recipient domain, newest first. The only further index that has every email: docs/decisions/0013.
create index concurrently if not exists emails_by_domain on emails (project_id, split_part(to_address, '@', 2), id);
-- Emails that wait for a retry or an outcome. An email that is sent at the first attempt is never in it.
create index concurrently if not exists emails_waiting on emails (project_id, id) where state in ('deferred', 'unknown');
-- Request ids that callers gave. Ids of our own contain the time, near which their emails are found by their own ids.
create index concurrently if not exists emails_by_given_request on emails (project_id, request_id)
  where request_id !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7';
