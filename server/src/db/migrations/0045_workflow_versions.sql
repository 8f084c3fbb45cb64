-- The person who saved a version of the steps. Null: an API key.
alter table workflow_graphs add column saved_by uuid;
