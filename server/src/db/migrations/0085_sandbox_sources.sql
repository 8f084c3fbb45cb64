-- Read in pieces of a megabyte: of a compressed value each piece would be read from the start.
alter table sandbox_messages alter column source set storage external;
