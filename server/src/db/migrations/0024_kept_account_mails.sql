-- Account mails that were kept because there was no sender ------------------------------------------------------------

-- Rows of before, and those that older nodes still write, hold links that live an hour, or are treated as if.
alter table account_mails add column link_expires_at timestamptz;
update account_mails set link_expires_at = created_at + interval '1 hour';
alter table account_mails
  alter column link_expires_at set default now() + interval '1 hour',
  alter column link_expires_at set not null;

create index account_mails_kept on account_mails (link_expires_at) where state = 'kept';
create index account_mails_recipient on account_mails (recipient);
