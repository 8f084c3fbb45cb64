-- Both come with every PostgreSQL and may be created by the owner of a database.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;

-- Ids -----------------------------------------------------------------------------------------------------------------

-- The time in a UUIDv7, in milliseconds.
create function id_time(id uuid) returns timestamptz immutable parallel safe language sql
return to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0);

-- The UTC day in a UUIDv7: partitions and counts of events go by it.
create function id_day(id uuid) returns date immutable parallel safe language sql
return (to_timestamp(('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint / 1000.0) at time zone 'utc')::date;

-- The smallest UUIDv7 of a moment, with its milliseconds rounded down.
create function lowest_id(at timestamptz) returns uuid immutable parallel safe language sql
return (lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;

-- Transactions --------------------------------------------------------------------------------------------------------

-- Ends the transaction with a SQLSTATE of our own (db/sql-state.ts) unless the condition is true: for transactions that are sent without
-- waiting for the answer to a check.
create function require_true(condition boolean) returns void parallel safe language plpgsql as $$
begin
  if condition is not true then
    raise exception 'a condition of this transaction does not hold' using errcode = 'ST001';
  end if;
end $$;

-- Locks of caps, until the end of the transaction. A batch of requests gives up on other locks after 50 ms and is then retried in parts; a
-- cap is held by every request of its project in turn, so this wait is longer: less than the statement timeout.
create function lock_caps(keys bigint[]) returns int language plpgsql set lock_timeout = '4500ms' as $$
declare
  key bigint;
begin
  foreach key in array keys loop
    perform pg_advisory_xact_lock(key);
  end loop;
  return cardinality(keys);
end $$;

-- Texts ---------------------------------------------------------------------------------------------------------------

-- Replaces characters of a text by a map of them. `variants` is a regular expression for one of them: a search for it takes a hundredth of
-- the time of a look at each character, and most texts have few of them, or none. From the ninth on all are replaced in one pass.
create function fold_text(given text, variants text, folds jsonb) returns text immutable strict parallel safe language plpgsql as $$
declare
  point text;
begin
  for found in 1..8 loop
    point := substring(given from variants);
    if point is null then
      return given;
    end if;
    given := replace(given, point, folds ->> point);
  end loop;
  return (
    select coalesce(string_agg(coalesce(folds ->> each, each), ''), '')
    from (select unnest(string_to_array(given, null)) as each offset 0) as points);
end $$;

-- Whether a text contains another. In PL/pgSQL, which looks between statements whether the limit of the caller's statement has passed:
-- an expression of hundreds of searches through a long text does not.
create function contains_text(given text, needle text) returns boolean immutable strict parallel safe language plpgsql as $$
begin
  return strpos(given, needle) > 0;
end $$;
