-- Rendered previews of unsaved content, for the frame that shows them. Unlogged: each is read once, within seconds.
create unlogged table preview_pages (
  project_id uuid not null,
  id uuid not null,
  html text not null,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
create index preview_pages_age on preview_pages (created_at);
