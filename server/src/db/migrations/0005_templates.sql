-- Templates -----------------------------------------------------------------------------------------------------------

create table templates (
  project_id uuid not null,
  id uuid not null,
  name text not null,
  description text,
  subject text not null,
  body text not null,
  from_address text,
  from_name text,
  reply_to text,
  type text not null check (type in ('TRANSACTIONAL', 'MARKETING', 'HEADLESS')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
);
