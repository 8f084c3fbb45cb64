-- sterna: no transaction
-- When did this contact last do X? See docs/decisions/0011.
create index concurrently if not exists events_by_contact_name on each partition of events (project_id, contact_id, name, id);
-- Opens and clicks that no machine caused: a mailbox that scans everything has thousands of others.
create index concurrently if not exists events_by_human on each partition of events (project_id, contact_id, name, id)
  where name in ('email.open', 'email.click') and data ->> 'machine' is distinct from 'true';
