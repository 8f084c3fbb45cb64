-- The host that was verified last. While it is the link host, its name serves only what emails link to; one that never was restricts
-- nothing. The name and not a time: nodes of the release before change `link_host` without knowing this column.
alter table domains add column link_host_verified text collate "C";

update domains set link_host_verified = link_host where status = 'verified' and link_host_status in ('verified', 'failed');

-- Until now a host could be verified without its domain: that proves nothing about the name. It is checked again once the domain is verified.
update domains set link_host_status = 'pending', link_host_failures = 0, link_host_since = now()
where status <> 'verified' and link_host_status = 'verified';
