-- sterna: no transaction
-- Keys of scheduled emails by their emails: a key lives longer when its email is moved to a later time.
create index concurrently if not exists idempotency_keys_scheduled on idempotency_keys using gin (result jsonb_path_ops)
  where lives_from is not null;
