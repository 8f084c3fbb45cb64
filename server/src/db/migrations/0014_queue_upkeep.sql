-- Every mail is written four times. Tidied up by the share of rows that is the default, a small table was gone through every ten
-- seconds, and a large one only after claims had walked past hundreds of thousands of mails that no longer wait.
alter table emails set (autovacuum_vacuum_threshold = 50000, autovacuum_vacuum_scale_factor = 0.05);
