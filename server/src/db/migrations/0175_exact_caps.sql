-- Locks of caps, until the end of the transaction. A batch of requests gives up on other locks after 50 ms and is then retried in parts; a
-- cap is held by every request of its project in turn, so this wait is longer: less than the statement timeout.
create function lock_caps(keys bigint[]) returns int language plpgsql set lock_timeout = '4500ms' as $$
declare
  key bigint;
begin
  foreach key in array keys loop
    perform pg_advisory_xact_lock(key);
  end loop;
  return cardinality(keys);
end $$;

-- Recipients of a campaign that are not written yet and counted against the cap of its project: all of them, or those of the next page.
alter table campaigns
  add column reserved int,
  add column reserved_for text check (reserved_for in ('all', 'page'));
