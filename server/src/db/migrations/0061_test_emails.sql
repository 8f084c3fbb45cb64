-- Sent by a person to see an email. Not tracked, and outside events, counts and billing. Has no contact: one with its address is read
-- when it is sent.
alter table emails add column test boolean not null default false;
