alter table emails
  -- An email of a workflow to an address of its own: the variables are those of the execution's contact alone, stored in `vars`, and nothing
  -- of the recipient's data.
  add column only_vars boolean not null default false;
