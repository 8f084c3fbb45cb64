-- What a mail provider tells ------------------------------------------------------------------------------------------

-- As it came, once by the provider's own id; kept for some weeks. Whose mail it is about is known only once it was read.
create table provider_notifications (
  id text collate "C" primary key,
  message text not null,
  received_at timestamptz not null default now(),
  -- When to apply it. Null: that is over.
  due_at timestamptz default now(),
  tries smallint not null default 0,
  -- What it said, of which mail, and why nothing followed if nothing did.
  kind text,
  project_id uuid,
  email_id uuid,
  details jsonb,
  error text
);
create index provider_notifications_due on provider_notifications (due_at) where due_at is not null;
create index provider_notifications_received on provider_notifications (received_at);
create index provider_notifications_of_mail on provider_notifications (project_id, email_id) where project_id is not null;

-- Domains whose keys are Amazon's: three names to publish, and the zone they point to.
alter table domains
  add column ses_tokens jsonb not null default '[]',
  add column ses_zone text,
  drop constraint domains_verified_by_check,
  add constraint domains_verified_by_check check (verified_by in ('dns', 'ses', 'sandbox'));
