-- Suppressions --------------------------------------------------------------------------------------------------------

-- `address` may also be '@' and a domain: then nobody there is written to. 'manual': the customer said so.
alter table suppressions add constraint suppressions_reason check (reason in ('bounce', 'complaint', 'manual'));
create index suppressions_newest on suppressions (project_id, created_at, address);
create index suppressions_by_reason on suppressions (project_id, reason, created_at, address);

-- Mails that came back for a reason that may pass. Many of them without a delivery, and the address is suppressed.
create table soft_bounces (
  project_id uuid not null,
  address text collate "C" not null,
  email_id uuid not null,
  -- Something was delivered since, or the suppression was lifted: counts no more. The row stays, so that a mail counts once.
  forgiven boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (project_id, address, email_id)
);
create index soft_bounces_oldest on soft_bounces (created_at);
