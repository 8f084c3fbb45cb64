-- `follows_contact`: the email goes to the address that its contact has when it is handed over. False from the first mark on: `to_address` is
-- then the address that was used.
-- `put_back`: attempts that ended before the end of the message because the email was not permitted to leave. `attempts` numbers all of them, as a
-- fence against late workers, so these are subtracted where attempts are shown.
-- `timeouts`: how often rendering or building it ran out of time.
alter table emails
  add column follows_contact boolean not null default false,
  add column put_back smallint not null default 0,
  add column timeouts smallint not null default 0;
