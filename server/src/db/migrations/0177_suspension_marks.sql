-- What a suspension leaves behind for 30 days, also after its project or the account of its owner was deleted. `suspended` is the project,
-- which may be gone: these rows are not part of its data, and a wipe keeps them.
create table suspended_owners (
  suspended uuid primary key,
  owner uuid not null,
  -- SHA-256 of the owner's address: an account that is deleted and made again has another id.
  address bytea not null,
  reason text not null,
  at timestamptz not null default now(),
  until timestamptz not null
);
create index suspended_owners_owner on suspended_owners (owner);
create index suspended_owners_address on suspended_owners (address);
create index suspended_owners_until on suspended_owners (until);

create table suspended_domains (
  domain text not null,
  suspended uuid not null,
  until timestamptz not null,
  primary key (domain, suspended)
);
create index suspended_domains_suspended on suspended_domains (suspended);
create index suspended_domains_until on suspended_domains (until);

alter table suspensions
  -- Ends by itself then.
  add column ends_at timestamptz,
  -- The project was created while its owner had a suspended project.
  add column inherited boolean not null default false;
create index suspensions_ending on suspensions (ends_at) where until is null and ends_at is not null;
