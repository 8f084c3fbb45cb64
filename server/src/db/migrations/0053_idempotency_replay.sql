-- SHA-256 of the body of the first request: a repeat with the same body may get the first answer.
alter table idempotency_keys add column body_hash bytea;
