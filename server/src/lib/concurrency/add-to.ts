/** Changes the count of a key. One that becomes zero is removed, so that the map has no more keys than there is something to count. */
export function addTo(counts: Map<string, number>, key: string, change: number) {
  const count = (counts.get(key) ?? 0) + change
  if (count) counts.set(key, count)
  else counts.delete(key)
}
