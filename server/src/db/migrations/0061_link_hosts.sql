-- A host of the customer, below the sender domain, for the links of its emails.
alter table domains
  add column link_host text collate "C" unique,
  add column link_host_status text check (link_host_status in ('pending', 'verified', 'failed')),
  -- The CNAME was right at the last check: a certificate may be issued.
  add column link_host_pointed boolean not null default false,
  add column link_host_finding jsonb,
  add column link_host_error text,
  -- Checks in a row that failed. Look-ups without an answer do not count.
  add column link_host_failures int not null default 0,
  add column link_host_since timestamptz,
  add column link_host_next_check_at timestamptz;
create index domains_link_host_due on domains (link_host_next_check_at) where link_host is not null;
