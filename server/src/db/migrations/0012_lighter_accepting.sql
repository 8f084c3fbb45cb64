-- Expired keys are found page by page instead: this index cost every request with a key, and served one job an hour.
drop index idempotency_keys_age;

-- Where it can be had: packing a body took the default method longer than everything else about accepting a mail.
do $$ begin
  alter table contents alter column body set compression lz4;
exception when feature_not_supported then null;
end $$;
