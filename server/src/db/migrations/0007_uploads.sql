-- Uploaded images: which file is whose. A row is written once its file is stored, so none ever points nowhere.
create table uploads (
  project_id uuid not null,
  id uuid not null,
  -- The name of the file, and the last part of its address.
  key text not null,
  content_type text not null,
  size int not null,
  created_at timestamptz not null default now(),
  primary key (project_id, id)
);
