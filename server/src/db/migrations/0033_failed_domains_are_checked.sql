-- A domain that has been pending for 30 days is still checked.
update domains set next_check_at = now() where next_check_at is null;
