-- The workflow that a template was written in. Null: a template of its own.
alter table templates add column workflow_id uuid;
create index templates_of_workflows on templates (project_id, workflow_id, id) where workflow_id is not null;
