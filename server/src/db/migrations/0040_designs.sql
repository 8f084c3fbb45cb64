-- Visual emails: the blocks beside the HTML that they were rendered to, and the look of a project's emails.
alter table templates add column design jsonb;
alter table template_versions add column design jsonb;
alter table campaigns add column design jsonb;
alter table projects add column brand jsonb not null default '{}';
