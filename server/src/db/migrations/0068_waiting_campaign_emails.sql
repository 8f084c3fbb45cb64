-- sterna: no transaction
-- Emails of a campaign that wait for a time or an outcome: neither queued nor on their way. Few, and none in the ordinary course.
create index concurrently if not exists emails_waiting_of_campaign on emails (project_id, campaign_id)
  where campaign_id is not null and state in ('deferred', 'unknown');
