import type { ReactNode } from 'react'
import { changeOf } from '../ui/chart/chart-scale.ts'
import { PathLink } from '../ui/page/path-link.tsx'
import { formatChange, formatCount } from '../ui/text/count.tsx'

type FigureProps = {
  label: string
  value: ReactNode
  /** The denominator, or what the number leaves out. */
  note?: ReactNode
  /** The same number now and in the previous period. */
  change?: { now: number; before: number; format?: (value: number) => string }
  /** The list behind the number: a path with its query. */
  to?: string
  children?: ReactNode
}

/** A number with its change against the period before. It opens its list. */
export function Figure({ label, value, note, change, to, children }: FigureProps) {
  return (
    <div className={`relative min-w-0 px-4 py-3 ${to ? 'hover:bg-sunken/70' : ''}`}>
      <dt className="text-muted text-xs">{label}</dt>
      <dd className="mt-0.5">
        <span className="flex items-end justify-between gap-2">
          <span className="truncate font-semibold text-figure tabular-nums">
            {to ? (
              <PathLink to={to} className="rounded-sm after:absolute after:inset-0">
                {value}
                <span className="sr-only"> {label.toLowerCase()}, open the list</span>
              </PathLink>
            ) : (
              value
            )}
          </span>
          {/* Beside a number of a phone there is no room. */}
          <span className="max-sm:hidden">{children}</span>
        </span>
        <span className="block text-muted text-xs">
          {change && <Change {...change} />}
          {change && note && ' · '}
          {note}
        </span>
      </dd>
    </div>
  )
}

/** `+12%` with the number before as tooltip. Not coloured: more is not always better. */
function Change({ now, before, format = formatCount }: { now: number; before: number; format?: (value: number) => string }) {
  const share = changeOf(now, before)
  const words = share === undefined ? (now > 0 ? 'up from 0' : 'no change') : formatChange(share)
  return <span title={`${format(before)} in the previous period`}>{words}</span>
}

export function Figures({ children }: { children: ReactNode }) {
  return (
    <dl className="grid grid-cols-2 divide-line overflow-hidden rounded-lg border border-line bg-surface max-lg:[&>*:nth-child(even)]:border-l max-lg:[&>*:nth-child(n+3)]:border-t max-lg:[&>*]:border-line lg:auto-cols-fr lg:grid-flow-col lg:grid-cols-none lg:divide-x">
      {children}
    </dl>
  )
}
