import { useState } from 'react'
import { formatCount } from '../../../ui/text/count.tsx'
import { begunHours, type Hour, ticksOf } from './hours.ts'

const WIDTH = 720
const HEIGHT = 180
const LEFT = 44
const BOTTOM = 22
const TOP = 8
const SHOWN_HOURS = 48

const SERIES = [
  { name: 'opened', label: 'Opened', colour: 'fill-series-1', dot: 'bg-series-1' },
  { name: 'clicked', label: 'Clicked', colour: 'fill-series-2', dot: 'bg-series-2' },
] as const

const timeOf = (from: string) =>
  new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit' }).format(new Date(from))

/** People that opened or clicked first, by hour. The table has the same numbers. */
export default function HoursChart({ hours }: { hours: Hour[] }) {
  const shown = begunHours(hours, Date.now())
  const [chosen, setChosen] = useState<number>()
  const ticks = ticksOf(Math.max(...shown.map(({ opened, clicked }) => Math.max(opened, clicked)), 0))
  const top = ticks.at(-1)!
  const step = (WIDTH - LEFT) / SHOWN_HOURS
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)
  const at = chosen === undefined ? undefined : shown[chosen]
  return (
    <figure>
      <figcaption className="flex flex-wrap items-center gap-x-4 gap-y-1 text-muted text-xs">
        {SERIES.map(({ name, label, dot }) => (
          <span key={name} className="inline-flex items-center gap-1.5">
            <span className={`size-2 rounded-xs ${dot}`} aria-hidden="true" />
            {label}
          </span>
        ))}
        <span role="status" className="tabular-nums">
          {at && `${timeOf(at.from)}: ${formatCount(at.opened)} opened, ${formatCount(at.clicked)} clicked, ${formatCount(at.sent)} sent`}
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        className="mt-2 w-full"
        role="img"
        aria-label="People who opened and clicked in the first 48 hours; the table below has the numbers"
        onPointerLeave={() => setChosen(undefined)}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line x1={LEFT} x2={WIDTH} y1={y(tick)} y2={y(tick)} className="stroke-line" strokeWidth="1" />
            <text x={LEFT - 6} y={y(tick) + 4} textAnchor="end" className="fill-current text-[11px] text-muted">
              {formatCount(tick)}
            </text>
          </g>
        ))}
        {shown.map((hour, index) => (
          <g key={hour.from} onPointerEnter={() => setChosen(index)}>
            <rect
              x={LEFT + index * step}
              y={TOP}
              width={step}
              height={HEIGHT - TOP - BOTTOM}
              className={chosen === index ? 'fill-sunken' : 'fill-transparent'}
            />
            {SERIES.map(({ name, colour }, number) => (
              <rect
                key={name}
                x={LEFT + index * step + 1 + (number * (step - 2)) / 2}
                y={y(hour[name])}
                width={(step - 2) / 2}
                height={y(0) - y(hour[name])}
                className={colour}
              />
            ))}
          </g>
        ))}
        {[0, 12, 24, 36].map((hour) => (
          <text key={hour} x={LEFT + hour * step} y={HEIGHT - 6} className="fill-current text-[11px] text-muted">
            {hour === 0 ? 'Start' : `+${hour} h`}
          </text>
        ))}
      </svg>
      <HoursTable hours={shown} />
    </figure>
  )
}

function HoursTable({ hours }: { hours: Hour[] }) {
  return (
    <details className="mt-2 text-ui">
      <summary className="w-fit rounded-sm py-1 text-muted text-xs hover:text-ink">As a table</summary>
      <div className="mt-2 max-h-64 overflow-auto">
        <table className="w-full text-left">
          <thead className="text-muted text-xs">
            <tr>
              <th scope="col">From</th>
              <th scope="col" className="text-right">
                Sent
              </th>
              <th scope="col" className="text-right">
                Opened
              </th>
              <th scope="col" className="text-right">
                Clicked
              </th>
            </tr>
          </thead>
          <tbody>
            {hours.map(({ from, sent, opened, clicked }) => (
              <tr key={from}>
                <th scope="row" className="font-normal">
                  {timeOf(from)}
                </th>
                <td className="text-right">{formatCount(sent)}</td>
                <td className="text-right">{formatCount(opened)}</td>
                <td className="text-right">{formatCount(clicked)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
