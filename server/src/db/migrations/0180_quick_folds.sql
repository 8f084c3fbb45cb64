-- Replaces characters of a text by a map of them. `variants` is a regular expression for one of them: a search for it takes a hundredth of
-- the time of a look at each character, and most texts have few of them, or none. From the ninth on all are replaced in one pass.
drop function fold_text(text, jsonb);
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
