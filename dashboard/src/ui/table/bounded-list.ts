/** Rows of a list on screen at once: more make a page slow. */
export const MAX_ROWS = 100

type BoundedList<Item> = { shown: Item[]; found: number }

/** The items whose text contains the query, at most one page of them. */
export function boundList<Item>(items: Item[], q: string, textOf: (item: Item) => string, max = MAX_ROWS): BoundedList<Item> {
  const wanted = q.trim().toLowerCase()
  const found = wanted ? items.filter((item) => textOf(item).toLowerCase().includes(wanted)) : items
  return { shown: found.slice(0, max), found: found.length }
}
