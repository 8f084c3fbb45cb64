-- What comes in by SMTP ------------------------------------------------------------------------------------------------

-- A return path has room for the end of a project's id only; the signature says which of those that end so is meant.
create index projects_by_ending on projects (right(id::text, 8));

-- Who did not hear our answer sends again: the same mail to the same address is one.
create unique index emails_received on emails (project_id, to_address, message_id) where source_type = 'INBOUND';
