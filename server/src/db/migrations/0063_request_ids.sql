-- X-Request-ID of the call that sent the email. Not indexed: ids of ours contain the time, near which the email is found by its own id.
alter table emails add column request_id text;
