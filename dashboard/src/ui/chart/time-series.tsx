import { type KeyboardEvent, type PointerEvent, useEffect, useRef, useState } from 'react'
import { formatCount } from '../text/count.tsx'
import { areaPath, linePath, niceTicks, type Point, shownLabels } from './chart-scale.ts'

export type Series = { label: string; values: number[] /** The period before: a dashed line in the same colour. */; before?: number[] }
type Threshold = { value: number; label: string; tone: 'warning' | 'danger' }

type TimeSeriesProps = {
  /** Names the chart, and heads its table. */
  label: string
  /** Days as `2026-05-03`, one for each value. */
  dates: string[]
  /** The first one is drawn as an area if it is the only one. */
  series: Series[]
  thresholds?: Threshold[]
  format?: (value: number) => string
  /** The last day is not over: its part of the line is dashed. */
  isLastOpen?: boolean
  height?: number
}

const MARGIN = { top: 8, right: 8, bottom: 22, left: 44 }
/** Lines differ by their dashes too. */
const STROKES = ['text-series-1', 'text-series-2', 'text-series-3']
const DASHES = [undefined, '6 3', '2 3']
const LABEL_WIDTH = 64

/** Values by day as lines, readable with the pointer, with arrow keys and as a table. */
export function TimeSeries({
  label,
  dates,
  series,
  thresholds = [],
  format = (value) => formatCount(value),
  isLastOpen = false,
  height = 220,
}: TimeSeriesProps) {
  const [frame, width] = useWidth()
  const [at, setAt] = useState<number>()
  const largest = Math.max(
    0,
    ...series.flatMap(({ values, before = [] }) => [...values, ...before]),
    ...thresholds.map(({ value }) => value),
  )
  const isWhole = series.every(({ values }) => values.every(Number.isInteger)) && thresholds.length === 0
  const ticks = niceTicks(largest, isWhole)
  const inner = { width: Math.max(0, width - MARGIN.left - MARGIN.right), height: height - MARGIN.top - MARGIN.bottom }
  const x = (index: number) => MARGIN.left + (dates.length > 1 ? (index / (dates.length - 1)) * inner.width : inner.width / 2)
  const y = (value: number) => MARGIN.top + inner.height * (1 - value / ticks.at(-1)!)
  const pointsOf = (values: number[]): Point[] => values.slice(0, dates.length).map((value, index) => [x(index), y(value)])
  const last = dates.length - 1

  function press(event: KeyboardEvent) {
    const step = STEPS[event.key]
    if (step === undefined) return
    event.preventDefault()
    setAt(Math.min(last, Math.max(0, (at ?? last) + step)))
  }
  function point({ clientX, currentTarget }: PointerEvent) {
    const { left } = currentTarget.getBoundingClientRect()
    const share = (clientX - left - MARGIN.left) / Math.max(1, inner.width)
    setAt(Math.min(last, Math.max(0, Math.round(share * last))))
  }
  const read = at ?? last
  return (
    <figure className="min-w-0">
      <figcaption className="sr-only">{label}</figcaption>
      <Legend series={series} />
      <div
        ref={frame}
        role="slider"
        tabIndex={0}
        aria-label={`${label}, by day`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, last)}
        aria-valuenow={Math.max(0, read)}
        aria-valuetext={dates[read] ? describeDay(dates[read], series, read, format) : 'No days'}
        onKeyDown={press}
        onPointerMove={point}
        onPointerLeave={() => setAt(undefined)}
        onBlur={() => setAt(undefined)}
        className="relative rounded-md outline-offset-2"
      >
        <svg width={width} height={height} aria-hidden="true" className="block max-w-full overflow-visible">
          {ticks.map((tick) => (
            <g key={tick}>
              <line x1={MARGIN.left} x2={width - MARGIN.right} y1={y(tick)} y2={y(tick)} className="stroke-line" />
              <text
                x={MARGIN.left - 8}
                y={y(tick)}
                dy="0.32em"
                textAnchor="end"
                className="fill-current text-[11px] text-muted tabular-nums"
              >
                {format(tick)}
              </text>
            </g>
          ))}
          {shownLabels(dates.length, Math.floor(inner.width / LABEL_WIDTH)).map((index) => (
            <text
              key={dates[index]}
              x={x(index)}
              y={height - 4}
              textAnchor={index === 0 ? 'start' : index === last ? 'end' : 'middle'}
              className="fill-current text-[11px] text-muted"
            >
              {shortDay(dates[index]!)}
            </text>
          ))}
          {thresholds.map(({ value, label: name, tone }) => (
            <g key={name} className={tone === 'danger' ? 'text-danger' : 'text-warning'}>
              <line x1={MARGIN.left} x2={width - MARGIN.right} y1={y(value)} y2={y(value)} stroke="currentColor" strokeDasharray="8 4" />
            </g>
          ))}
          {/* Above all lines, and one at each end, so that they can be read when the limits are close. */}
          {thresholds.map(({ value, label: name, tone }) => (
            <text
              key={name}
              x={tone === 'danger' ? width - MARGIN.right : MARGIN.left + 4}
              y={y(value) - 4}
              textAnchor={tone === 'danger' ? 'end' : 'start'}
              fill="currentColor"
              className={`stroke-[4px] stroke-surface text-[11px] [paint-order:stroke] ${tone === 'danger' ? 'text-danger' : 'text-warning'}`}
            >
              {name}
            </text>
          ))}
          {series.map(({ label: name, values, before }, index) => (
            <g key={name} className={STROKES[index % STROKES.length]}>
              {series.length === 1 && <path d={areaPath(pointsOf(values), y(0))} fill="currentColor" opacity="0.08" />}
              {before && (
                <path
                  d={linePath(pointsOf(before))}
                  fill="none"
                  stroke="currentColor"
                  strokeWidth="1.5"
                  strokeDasharray="3 4"
                  opacity="0.6"
                />
              )}
              <Line points={pointsOf(values)} dash={DASHES[index % DASHES.length]} isLastOpen={isLastOpen} />
              {at !== undefined && values[at] !== undefined && <circle cx={x(at)} cy={y(values[at])} r="3.5" fill="currentColor" />}
            </g>
          ))}
          {at !== undefined && (
            <line x1={x(at)} x2={x(at)} y1={MARGIN.top} y2={height - MARGIN.bottom} stroke="currentColor" className="text-edge" />
          )}
        </svg>
        {at !== undefined && dates[at] && <Reading left={x(at)} width={width} day={dates[at]} series={series} index={at} format={format} />}
      </div>
      <DataBehind label={label} dates={dates} series={series} format={format} />
    </figure>
  )
}

type ReadingProps = { left: number; width: number; day: string; series: Series[]; index: number; format: Format }

/** The values of a day, beside the pointer; on the side of it that has room. */
function Reading({ left, width, day, series, index, format }: ReadingProps) {
  const isRight = left < width / 2
  return (
    <div
      aria-hidden="true"
      className="pointer-events-none absolute top-2 z-10 rounded-md border border-line bg-surface px-2 py-1.5 text-xs shadow-float"
      style={isRight ? { left: left + 12 } : { right: width - left + 12 }}
    >
      <p className="whitespace-nowrap text-muted">{longDay(day)}</p>
      {series.map(({ label, values, before }, each) => (
        <p key={label} className="flex items-center gap-1.5 whitespace-nowrap">
          <span className={`size-2 rounded-full bg-current ${STROKES[each % STROKES.length]}`} />
          {label} <span className="ml-auto pl-2 font-medium tabular-nums">{format(values[index] ?? 0)}</span>
          {before && <span className="text-muted tabular-nums">before {format(before[index] ?? 0)}</span>}
        </p>
      ))}
    </div>
  )
}

/** A week with PageUp and PageDown. */
const STEPS: Record<string, number> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -7,
  PageDown: 7,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
}

function Line({ points, dash, isLastOpen }: { points: Point[]; dash: string | undefined; isLastOpen: boolean }) {
  const closed = isLastOpen ? points.slice(0, -1) : points
  const style = { fill: 'none', stroke: 'currentColor', strokeWidth: 2, strokeLinejoin: 'round' as const }
  return (
    <>
      <path d={linePath(closed)} {...style} strokeDasharray={dash} />
      {isLastOpen && points.length > 1 && <path d={linePath(points.slice(-2))} {...style} strokeDasharray="2 4" />}
      {points.length === 1 && <circle cx={points[0]![0]} cy={points[0]![1]} r="3" fill="currentColor" />}
    </>
  )
}

/** The width of the element in px, and 0 until it is known. */
function useWidth() {
  const element = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)))
    observer.observe(element.current!)
    return () => observer.disconnect()
  }, [])
  return [element, width] as const
}

const asDate = (day: string) => new Date(`${day.slice(0, 10)}T00:00:00Z`)
const shortDay = (day: string) =>
  new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(asDate(day))
const longDay = (day: string) => new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' }).format(asDate(day))

type Format = (value: number) => string

function describeDay(day: string, series: Series[], index: number, format: Format): string {
  const parts = series.map(({ label, values, before }) => {
    const was = before?.[index]
    return `${label} ${format(values[index] ?? 0)}${was === undefined ? '' : `, before ${format(was)}`}`
  })
  return `${longDay(day)}: ${parts.join('; ')}`
}

function Legend({ series }: { series: Series[] }) {
  return (
    <div className="mb-2 flex min-h-5 flex-wrap items-center gap-x-4 gap-y-1 text-xs" aria-hidden="true">
      {series.map(({ label }, index) => (
        <span key={label} className={`inline-flex items-center gap-1.5 ${STROKES[index % STROKES.length]}`}>
          <svg width="16" height="4" aria-hidden="true">
            <line x1="0" x2="16" y1="2" y2="2" stroke="currentColor" strokeWidth="2" strokeDasharray={DASHES[index % DASHES.length]} />
          </svg>
          <span className="text-ink">{label}</span>
        </span>
      ))}
      {series.some(({ before }) => before) && <span className="ml-auto text-muted">Dashed: the previous period</span>}
    </div>
  )
}

type DataBehindProps = { label: string; dates: string[]; series: Series[]; format: Format }

function DataBehind({ label, dates, series, format }: DataBehindProps) {
  const hasBefore = series.some(({ before }) => before)
  return (
    <details className="mt-1">
      <summary className="w-fit rounded-sm py-1 text-muted text-xs hover:text-ink">Table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard */}
      <div className="mt-1 max-h-72 overflow-auto rounded-md border border-line" tabIndex={0}>
        <table className="w-full text-left text-xs">
          <caption className="sr-only">{label}</caption>
          <thead>
            <tr className="border-line border-b text-muted">
              <th scope="col" className="px-2 py-1 font-medium">
                Day
              </th>
              {series.map((each) => (
                <th key={each.label} scope="col" className="px-2 py-1 text-right font-medium">
                  {each.label}
                  {hasBefore && ' (before)'}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {dates.map((day, index) => (
              <tr key={day}>
                <th scope="row" className="whitespace-nowrap px-2 py-1 font-normal">
                  {longDay(day)}
                </th>
                {series.map(({ label: name, values, before }) => (
                  <td key={name} className="px-2 py-1 text-right">
                    {format(values[index] ?? 0)}
                    {before && ` (${format(before[index] ?? 0)})`}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}

/** A line without axes, beside a figure. */
export function Spark({ values }: { values: number[] }) {
  const [width, height] = [72, 24]
  const largest = Math.max(1, ...values)
  const points = values.map(
    (value, index): Point => [
      values.length > 1 ? (index / (values.length - 1)) * width : width / 2,
      height - 2 - (value / largest) * (height - 4),
    ],
  )
  return (
    <svg width={width} height={height} aria-hidden="true" className="shrink-0 text-series-1">
      <path d={areaPath(points, height)} fill="currentColor" opacity="0.08" />
      <path d={linePath(points)} fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinejoin="round" />
    </svg>
  )
}
