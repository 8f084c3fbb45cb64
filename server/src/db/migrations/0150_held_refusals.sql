-- Refusals of recipients whose consequences are not written yet: whether they are about the recipients or about us is still being found out.
create table held_refusals (
  project_id uuid not null,
  email_id uuid not null,
  -- The sender domain.
  domain text not null,
  -- The reply without what names a single email. Equal replies have the same.
  fingerprint text not null,
  reply text not null,
  -- A hard bounce, unless the reply turns out to be about us.
  unknown_recipient boolean not null,
  -- In the order of settlement.
  place bigint generated always as identity,
  held_at timestamptz not null default now(),
  primary key (project_id, email_id)
);
create index held_refusals_by_reply on held_refusals (project_id, domain, fingerprint, place);

-- Equal replies since the last accepted recipient of a sender domain. An accepted recipient deletes the row.
create table refusal_streaks (
  project_id uuid not null,
  domain text not null,
  fingerprint text not null,
  replies int not null,
  -- Held refusals with a lower place were followed by an accepted recipient.
  first_place bigint not null,
  last_at timestamptz not null default now(),
  primary key (project_id, domain, fingerprint)
);

alter table sending_pauses
  -- The domain is paused for equal refusals: a held email and another one are sent to find out what they are about.
  add column verifies boolean not null default false,
  -- Has already counted towards a pause of the provider.
  add column escalated boolean not null default false;
