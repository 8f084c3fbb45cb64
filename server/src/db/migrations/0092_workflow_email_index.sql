-- sterna: no transaction
create index concurrently if not exists emails_of_execution on emails (project_id, workflow_execution_id) where workflow_execution_id is not null;
