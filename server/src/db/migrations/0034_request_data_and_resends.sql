-- What only the request knew is cleared when an email has ended, and 7 days after it failed. Null: cleared.
alter table emails alter column vars drop not null;
comment on column emails.vars is 'What the request alone knew. Null: cleared.';
alter table emails add column resent_from uuid;
