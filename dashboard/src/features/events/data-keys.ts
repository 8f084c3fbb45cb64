import { ownValue } from '../../ui/form/own-value.ts'

type WithData = { data: Record<string, unknown> }

/** Columns of data beside the others. */
const MAX_KEYS = 3

/** The keys that most of the events have, for columns of their own. */
export function dataKeysOf(events: WithData[], max = MAX_KEYS): string[] {
  const counts = new Map<string, number>()
  for (const { data } of events) for (const key of Object.keys(data)) counts.set(key, (counts.get(key) ?? 0) + 1)
  return [...counts]
    .sort(([a, countOfA], [b, countOfB]) => countOfB - countOfA || a.localeCompare(b))
    .slice(0, max)
    .map(([key]) => key)
}

/** Text as it is, everything else as JSON. */
export const showData = (value: unknown): string => (typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value))

/** A cell of the list; empty if the event does not have the key. */
export const showKey = ({ data }: WithData, key: string): string => showData(ownValue(data, key))
