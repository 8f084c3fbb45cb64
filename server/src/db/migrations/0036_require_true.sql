-- Ends the transaction with a SQLSTATE of our own (db/sql-state.ts) unless the condition is true: for transactions that are sent without
-- waiting for the answer to a check.
create function require_true(condition boolean) returns void parallel safe language plpgsql as $$
begin
  if condition is not true then
    raise exception 'a condition of this transaction does not hold' using errcode = 'ST001';
  end if;
end $$;
