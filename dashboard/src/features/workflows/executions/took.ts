const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A duration in its largest two units: `3 d 4 h`, `2 min`, `40 s`. */
export function describeDuration(ms: number): string {
  if (ms < SECOND) return '< 1 s'
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`
  const [big, bigUnit, small, smallUnit] = ms < DAY ? ([HOUR, 'h', MINUTE, 'min'] as const) : ([DAY, 'd', HOUR, 'h'] as const)
  const rest = Math.floor((ms % big) / small)
  return `${Math.floor(ms / big)} ${bigUnit}${rest > 0 ? ` ${rest} ${smallUnit}` : ''}`
}

/** How long something that has ended took. */
export const tookOf = ({ startedAt, completedAt }: { startedAt: string; completedAt: string | null }): string | undefined =>
  completedAt ? describeDuration(Date.parse(completedAt) - Date.parse(startedAt)) : undefined
