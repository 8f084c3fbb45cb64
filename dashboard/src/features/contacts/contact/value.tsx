import { Time } from '../../../ui/text/time.tsx'

/** A value of a contact's data. Always text: it may come from anyone. */
export function Value({ value, type }: { value: unknown; type?: string }) {
  if (value === undefined || value === null) return <span className="text-muted">–</span>
  if (type === 'date' && typeof value === 'string' && !Number.isNaN(Date.parse(value))) return <Time value={value} />
  return <span title={showValue(value)}>{showValue(value)}</span>
}

export const showValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
