-- Replaces characters of a text by a map of them. For many of them at once: `translate` looks through its whole list for each character of
-- the text, which takes seconds for a long text and a long list.
create function fold_text(given text, folds jsonb) returns text immutable strict parallel safe language plpgsql as $$
begin
  return (
    select coalesce(string_agg(coalesce(folds ->> point, point), ''), '')
    from (select unnest(string_to_array(given, null)) as point offset 0) as points);
end $$;

-- Whether a text contains another. In PL/pgSQL, which looks between statements whether the limit of the caller's statement has passed:
-- an expression of hundreds of searches through a long text does not.
create function contains_text(given text, needle text) returns boolean immutable strict parallel safe language plpgsql as $$
begin
  return strpos(given, needle) > 0;
end $$;
