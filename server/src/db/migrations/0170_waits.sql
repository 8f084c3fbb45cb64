-- Waits ask the events themselves (events/first-events.ts), so an execution no longer keeps copies of them.
alter table workflow_executions drop column seen;
-- The event that ended the step before. Null: it ended at a time. Together with `arrived_at`, the time of that event or that time, it is the
-- position after which events count for a WAIT_FOR_EVENT step.
alter table workflow_executions add column arrived_event_id uuid;
-- Until now `due_at` was the deadline of a wait, and arrivals were whole milliseconds: the event of that millisecond must not count again.
update workflow_executions set
  deadline_at = case when awaits is not null then due_at else deadline_at end,
  arrived_at = date_trunc('milliseconds', arrived_at) + interval '999 microseconds'
where status in ('RUNNING', 'WAITING');
