-- Sums of the counts of a project, since its owner acknowledged them the last time, and of all time.
create table reputations (
  project_id uuid primary key,
  attempted bigint not null default 0,
  bounced bigint not null default 0,
  complained bigint not null default 0,
  all_attempted bigint not null default 0,
  all_bounced bigint not null default 0,
  all_complained bigint not null default 0,
  -- The hour of the acknowledgement, and what had been counted in it before.
  since timestamptz,
  before_attempted bigint not null default 0,
  before_bounced bigint not null default 0,
  before_complained bigint not null default 0,
  acknowledged_at timestamptz,
  acknowledged_by text,
  -- Counted since it was judged.
  due boolean not null default true
);
create index reputations_due on reputations (project_id) where due;

create table suspensions (
  project_id uuid not null,
  id uuid not null,
  at timestamptz not null default now(),
  reason text not null,
  until timestamptz,
  lifted_by text,
  primary key (project_id, id)
);
