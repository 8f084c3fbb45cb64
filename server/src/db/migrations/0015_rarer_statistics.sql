-- Gathering the planner's statistics of mails takes half a second, and while mails were sent it was done every ten. No statement of
-- sending depends on them.
alter table emails set (autovacuum_analyze_threshold = 50000, autovacuum_analyze_scale_factor = 0.05);
