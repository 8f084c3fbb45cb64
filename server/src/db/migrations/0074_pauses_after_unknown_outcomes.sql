-- Amazon SES is also paused after several requests in a row that had no usable reply: such a pause is probed at even intervals.
alter table sending_pauses
  drop constraint sending_pauses_cause_check,
  add constraint sending_pauses_cause_check check (cause in ('quota', 'unknown'));
