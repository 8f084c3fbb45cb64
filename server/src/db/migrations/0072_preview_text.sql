-- Text that inboxes show beside the subject; it is hidden in the email itself. Null: none.
alter table templates add column preview_text text;
alter table template_versions add column preview_text text;
alter table contents add column preview_text text;
