-- Why a worker sends no faster: the rate that emails had to wait for in the last seconds. Null if none had to.
alter table senders add column slowed_by text;

-- What a pause of the provider is known to come from. Null if only its reply is known.
alter table sending_pauses add column cause text check (cause = 'quota');
