-- An hour in which a subscription ended and another one began has several reports.
alter table usage_reports add column part int not null default 0;
alter table usage_reports drop constraint usage_reports_pkey;
alter table usage_reports add primary key (project_id, category, hour, part);
-- The time of the report at the billing provider, which must be in the period of the subscription. Null: the last second of the hour.
alter table usage_reports add column at timestamptz;

-- Subscriptions that ended until then are settled: their usage was written as reports.
alter table projects add column settled_to timestamptz;
update projects set settled_to = now() where customer is not null;
