import type { ReactNode } from 'react'
import { formatCount } from '../text/count.tsx'

type MeterRow = { id: string; label: ReactNode /** The name for screen readers. */; name: string; value: number; detail?: ReactNode }

/** The largest of something as bars. A bar is a share of the largest, not of a whole. */
export function MeterList({ rows, unit }: { rows: MeterRow[]; unit: string }) {
  const largest = Math.max(1, ...rows.map(({ value }) => value))
  return (
    <ul className="space-y-2 text-ui">
      {rows.map(({ id, label, name, value, detail }) => (
        <li key={id}>
          <div className="flex items-baseline justify-between gap-3">
            <span className="min-w-0 truncate">{label}</span>
            <span className="shrink-0 tabular-nums">
              {formatCount(value)} {detail}
            </span>
          </div>
          {/* biome-ignore lint/a11y/useSemanticElements: browsers do not let the parts of a meter element be styled alike */}
          <div
            role="meter"
            aria-label={`${name}, ${unit}`}
            aria-valuenow={value}
            aria-valuemin={0}
            aria-valuemax={largest}
            className="mt-1 h-1.5 overflow-hidden rounded-full bg-sunken"
          >
            <div className="h-full origin-left bg-series-1" style={{ transform: `scaleX(${value / largest})` }} />
          </div>
        </li>
      ))}
    </ul>
  )
}
