-- What a template was before a change of its content. The newest version is the template itself.
create table template_versions (
  project_id uuid not null,
  template_id uuid not null,
  version int not null,
  subject text not null,
  body text not null,
  from_address text,
  from_name text,
  reply_to text,
  type text not null,
  saved_by uuid,
  saved_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (project_id, template_id, version)
);

alter table templates
  add column version int not null default 1,
  -- Who saved this version: null for an API key. Null time: before versions existed.
  add column saved_by uuid,
  add column saved_at timestamptz;

-- The version of the template that the content was made from.
alter table contents add column template_version int;
