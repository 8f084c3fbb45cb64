import { type ComponentProps, lazy, Suspense } from 'react'

const LazyTimeSeries = lazy(() => import('./time-series.tsx').then(({ TimeSeries }) => ({ default: TimeSeries })))
const LazySpark = lazy(() => import('./time-series.tsx').then(({ Spark }) => ({ default: Spark })))

const HEIGHT = 220
/** Legend and the line that opens the table. */
const AROUND = 52

/** A chart, loaded when it is first shown. Its height is reserved, so that nothing moves. */
export function Chart(props: ComponentProps<typeof LazyTimeSeries>) {
  return (
    <Suspense
      fallback={
        <div role="status" style={{ height: (props.height ?? HEIGHT) + AROUND }}>
          <span className="sr-only">Loading…</span>
        </div>
      }
    >
      <LazyTimeSeries {...props} />
    </Suspense>
  )
}

export function SparkLine({ values }: { values: number[] }) {
  return (
    <Suspense fallback={<span className="inline-block h-6 w-18" />}>
      <LazySpark values={values} />
    </Suspense>
  )
}
