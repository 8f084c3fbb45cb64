-- How email leaves this installation ----------------------------------------------------------------------------------

-- Null until the first node that knows it has started. Every node must agree with it, see db/join.ts.
alter table instance
  add column transport text check (transport in ('sandbox', 'smtp', 'ses'));
