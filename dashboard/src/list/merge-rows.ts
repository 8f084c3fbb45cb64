/** Rows on screen get their new state at once; rows above them are only counted. */
export function mergeRows<Row>(shown: Row[] | undefined, latest: Row[] | undefined, rowId: (row: Row) => string) {
  if (!shown) return { rows: undefined, newCount: 0 }
  if (!latest) return { rows: shown, newCount: 0 }
  // Nothing moves when the first rows appear.
  if (shown.length === 0) return { rows: latest, newCount: 0 }
  const fresh = new Map(latest.map((row) => [rowId(row), row]))
  const rows = shown.map((row) => fresh.get(rowId(row)) ?? row)
  for (const row of shown) fresh.delete(rowId(row))
  return { rows, newCount: fresh.size }
}
