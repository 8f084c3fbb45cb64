-- Account mails that were kept because there was no sender ------------------------------------------------------------

alter table account_mails
  -- When the link in it expires. Null: written by an older version, whose shortest links live an hour.
  add column link_expires_at timestamptz;

create index account_mails_kept on account_mails (created_at) where state = 'kept';
