-- Tells a message that is sent again from another one under the same Message-ID. Null for what is sent, and for what came before.
alter table contents add column fingerprint bytea;
