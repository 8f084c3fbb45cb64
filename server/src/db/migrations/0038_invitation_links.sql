-- The hash of a link that an admin copied. It lets its holder join the project, and proves no address: only the link in the email does.
alter table invitations add column link_hash bytea unique;
