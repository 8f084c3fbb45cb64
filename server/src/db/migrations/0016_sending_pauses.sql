-- What is paused because a relay or service refuses it, shared by all workers. The provider as a whole has the nil project and no domain.
create table sending_pauses (
  project_id uuid not null,
  domain text not null,
  reason text not null,
  -- The refusal without what names a single email: the same one for two projects means the provider.
  fingerprint text,
  failed_probes int not null default 0,
  since timestamptz not null default now(),
  until timestamptz not null,
  -- One email may be sent after `until`; the worker that sends it has until then to say how it went.
  probe_until timestamptz,
  primary key (project_id, domain)
);

alter table emails
  -- The class of `error`, from a documented list. Null for emails that ended before there was one.
  add column error_code text,
  -- As rendered, when it differs from the content's.
  add column subject text;
