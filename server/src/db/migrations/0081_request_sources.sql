-- Where requests without credentials come from, by hour: the private address that a node has met first, and '' for all others. If there is
-- nothing but one private address, it is a proxy that TRUST_PROXY does not name. Kept for a day.
create table request_sources (
  hour timestamptz not null,
  address text not null,
  requests bigint not null,
  primary key (hour, address)
);
