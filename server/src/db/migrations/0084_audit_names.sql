-- Targets in the audit trail are names and ids. Copied invitation links were in it with their tokens, which let their reader join the project, and
-- webhook endpoints with their URLs, whose queries may have tokens.
update audit_entries set target_name = null where target_name ~* '^https?://' and target_type <> 'webhook_endpoint';
update audit_entries set target_name = substring(target_name from '^[a-zA-Z]+://([^/?#]*)')
where target_name ~* '^https?://' and target_type = 'webhook_endpoint';

-- Values of settings keep their URLs without the query.
update audit_entries a set changes = (
  select jsonb_agg(
    case when c.change ->> 'value' ~* '^https?://[^?]*[?]' and jsonb_typeof(c.change -> 'value') = 'string'
      then jsonb_set(c.change, '{value}', to_jsonb(regexp_replace(c.change ->> 'value', '[?].*$', '?•••')))
      else c.change end order by c.place)
  from jsonb_array_elements(a.changes) with ordinality as c(change, place))
where a.changes @? '$[*].value ? (@ like_regex "^https?://[^?]*[?]" flag "i")';
