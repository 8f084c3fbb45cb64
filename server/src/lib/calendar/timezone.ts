import { DAY } from '../text/units.ts'

const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/

/** True for an IANA name, such as Europe/Berlin. */
export function isTimezone(name: string): boolean {
  if (name.length > 64 || !NAME.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** A local day as YYYY-MM-DD, hour 0 to 23, and weekday 1 (Monday) to 7. */
export type LocalHour = { day: string; hour: number; weekday: number }

/** Returns a function from full UTC hours to local ones. Reads the offset of a zone once a day, except on the days on which it changes. */
export function createLocalClock(timezone: string): (at: Date) => LocalHour {
  const offsetAt = offsetReader(timezone)
  const offsets = new Map<number, number | null>()
  const offsetOf = (at: Date) => {
    const day = Math.floor(at.getTime() / DAY)
    if (!offsets.has(day)) {
      const [first, next] = [offsetAt(day * DAY), offsetAt((day + 1) * DAY)]
      offsets.set(day, first === next ? first : null)
    }
    return offsets.get(day) ?? offsetAt(at.getTime())
  }
  return (at) => {
    const local = new Date(at.getTime() + offsetOf(at))
    return { day: local.toISOString().slice(0, 10), hour: local.getUTCHours(), weekday: local.getUTCDay() || 7 }
  }
}

/** Milliseconds that a zone is ahead of UTC. */
export function offsetReader(timezone: string) {
  if (timezone === 'UTC') return () => 0
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (at: number) => {
    const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)])) as Record<string, number>
    const local = Date.UTC(part.year!, part.month! - 1, part.day, part.hour, part.minute, part.second)
    return local - Math.floor(at / 1_000) * 1_000
  }
}
