-- Uncompressed, so that a piece of a file is read without the rest of it.
alter table job_files alter column content set storage external;
