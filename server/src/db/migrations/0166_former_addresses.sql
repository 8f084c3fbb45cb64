-- Addresses that contacts have left. Emails are found by their contact, for which there is an index; an email that went to a former address is
-- found by that address too.
create table former_addresses (
  project_id uuid not null,
  address text collate "C" not null,
  contact_id uuid not null,
  primary key (project_id, address, contact_id)
);
create index former_addresses_of_contact on former_addresses (project_id, contact_id);
