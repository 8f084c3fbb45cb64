-- The page of an invitation says which person it is from. Null: of before, or the account is gone.
alter table invitations add column invited_by uuid references users on delete set null;
create index invitations_invited_by on invitations (invited_by);
