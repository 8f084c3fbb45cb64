-- The claim code of the first account follows from the secret key and this value: nothing here opens anything, and two databases with the
-- same secret key have different codes.
alter table instance add column claim_nonce uuid not null default gen_random_uuid();
