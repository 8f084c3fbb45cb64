-- Contacts whose executions were deleted by age. A workflow without re-entry does not take them again.
create table workflow_entries (
  project_id uuid not null,
  workflow_id uuid not null,
  contact_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (project_id, workflow_id, contact_id)
);
