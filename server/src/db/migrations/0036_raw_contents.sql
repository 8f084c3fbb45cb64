-- A message that arrived by SMTP submission and is sent as it is, instead of a body that is rendered. Deleted some days after the last email of
-- the content has ended, like attachments; the form stays and tells that there was one.
alter table contents add column raw bytea;
alter table contents alter column raw set storage external;
alter table contents add column raw_form text check (raw_form in ('7bit', '8bit', 'utf8'));
-- Whether its sender asked for the tracking of opens and clicks.
alter table contents add column raw_tracked boolean;
create index contents_with_raw on contents (created_at) where raw is not null;
