-- What happened to emails and is not added up yet: appended by the statement that changes the emails, so that no row is written by every
-- request. One column per consumer: each takes what it adds up, and a row without any of them is deleted.
create table email_ledger (
  project_id uuid not null,
  id bigint generated always as identity,
  kind text not null,
  -- Emails; negative when an outcome was corrected.
  n int not null,
  -- For usage: the source of emails that were accepted or skipped.
  source text,
  -- For the counts of usage and reputation: the hour in which they count.
  hour timestamptz,
  -- For the counters of this campaign.
  campaign_id uuid,
  -- For the roll-ups of analytics.
  email_ids uuid[],
  created_at timestamptz not null default now(),
  primary key (project_id, id)
) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 100000);

drop table email_facts;
drop table email_tallies;
drop table email_count_deltas;
