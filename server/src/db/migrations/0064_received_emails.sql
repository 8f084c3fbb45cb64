-- sterna: no transaction
-- Received emails among those sent. Costs a sent email nothing: it is not in the index.
create index concurrently if not exists emails_received on emails (project_id, id) where source_type = 'INBOUND';
