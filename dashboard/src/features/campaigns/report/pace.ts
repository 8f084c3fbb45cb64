/** How many recipients had ended at a moment. */
export type Sample = { at: number; done: number }

const MINUTE = 60_000
/** Samples of this long make the rate: short enough to show a change, long enough not to jump. */
const WINDOW_MS = MINUTE

/** Adds a sample and drops those that no longer count. */
export function addSample(samples: readonly Sample[], sample: Sample): Sample[] {
  return [...samples.filter(({ at, done }) => sample.at - at <= WINDOW_MS && done <= sample.done), sample]
}

type Sending = { startedAt: string | null; done: number }

/** Recipients that end in a minute, in the last minute; right after the page was opened, since the start. Undefined if nothing is known. */
export function ratePerMinute(samples: readonly Sample[], { startedAt, done }: Sending, now: number): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first && last && last.at - first.at >= 3_000) return ((last.done - first.done) / (last.at - first.at)) * MINUTE
  const elapsed = startedAt ? now - Date.parse(startedAt) : 0
  return elapsed > 0 && done > 0 ? (done / elapsed) * MINUTE : undefined
}

/** `about 2 h 10 min`, for a duration in seconds. */
export function describeEstimate(seconds: number): string {
  if (seconds < 60) return 'less than a minute'
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `about ${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours >= 48) return `about ${Math.round(hours / 24)} days`
  return `about ${hours} h${minutes % 60 ? ` ${minutes % 60} min` : ''}`
}

/** How long the open recipients take at a rate; undefined if it never ends. */
export const timeLeft = (open: number, rate: number | undefined): string | undefined =>
  rate && rate > 0 ? describeEstimate((open / rate) * 60) : undefined
