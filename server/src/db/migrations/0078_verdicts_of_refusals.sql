-- What is known about a held refusal beside its reply. Rows of earlier versions are asked again before they stand.
alter table held_refusals
  -- It says nothing but that the recipient is unknown, in listed words.
  add column plain boolean not null default false,
  -- One of several equal ones in a row.
  add column frequent boolean not null default false,
  -- A recipient of the sender domain had been accepted within the minute before it.
  add column accepted_before boolean not null default false,
  -- When one was accepted whose dialogue began after it.
  add column accepted_after timestamptz,
  -- How often its email was queued again after such an acceptance, to be refused again or not.
  add column asks smallint not null default 0,
  -- It was then refused alike.
  add column confirmed boolean not null default false;
