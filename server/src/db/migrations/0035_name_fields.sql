-- Fields that hold the name of a contact, by which `q` of the contact list finds it: a field, or several joined by ' + '.
alter table projects add column name_fields text[] not null default array['name', 'firstName + lastName'];
