-- Emails are removed by age (EMAIL_RETENTION_MONTHS). Before the first email of a campaign goes, its counters are closed: from then on
-- nothing counts its emails anew.
alter table campaigns
  add column counters_closed_at timestamptz,
  -- What is otherwise read from emails: those refused during transmission, and the clicks of each link.
  add column closed_refused_count int,
  add column closed_links jsonb;
