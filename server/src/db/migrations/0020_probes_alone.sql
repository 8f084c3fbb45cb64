-- Of the failed probes of a pause those for which there was no other email of the sender domain: after three of them its refusals stand.
alter table sending_pauses add column probed_alone int not null default 0;
