import { useSyncExternalStore } from 'react'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** From here on a date says more than a number of days. */
const RELATIVE_FOR = 7 * DAY

/** `3 min ago`, `in 2 h`; beyond seven days the date, with its year if it is another one. */
export function relativeTime(value: string, now: number, locale?: string): string {
  const at = Date.parse(value)
  const distance = Math.abs(now - at)
  if (distance >= RELATIVE_FOR) return formatDate(at, now, locale)
  if (distance < MINUTE) return at <= now ? 'just now' : 'in a moment'
  // Times to come round to the nearest: three hours less a minute are three hours.
  return at <= now ? `${amountOf(distance, Math.floor)} ago` : `in ${amountOf(Math.round(distance / MINUTE) * MINUTE, Math.round)}`
}

function amountOf(distance: number, round: (value: number) => number): string {
  if (distance < HOUR) return `${round(distance / MINUTE)} min`
  return distance < DAY ? `${round(distance / HOUR)} h` : plural(round(distance / DAY), 'day')
}

function formatDate(at: number, now: number, locale: string | undefined): string {
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear()
  return new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', ...(!isThisYear && { year: 'numeric' }) }).format(at)
}

const plural = (count: number, unit: string) => `${count} ${unit}${count === 1 ? '' : 's'}`

/** The moment in local time and in UTC, for the tooltip. */
export function exactTime(value: string, locale?: string): string {
  const at = new Date(value)
  const local = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' }).format(at)
  return `${local}\n${at.toISOString().replace('T', ' ').slice(0, 19)} UTC`
}

/** A moment: relative when recent, with the exact time as tooltip. */
export function Time({ value, className }: { value: string; className?: string }) {
  const now = useNow()
  return (
    <time dateTime={value} title={exactTime(value)} className={className}>
      {relativeTime(value, now)}
    </time>
  )
}

/** A time of day, such as `12:04`, for things that happened just now. */
export function ClockTime({ value }: { value: string }) {
  return (
    <time dateTime={value} title={exactTime(value)}>
      {new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }).format(new Date(value))}
    </time>
  )
}

const TICK_MS = 30_000
let ticks = 0
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function tick() {
  if (document.hidden) return
  ticks++
  for (const listener of listeners) listener()
}

/** One timer for all times on a page. */
function subscribe(listener: () => void) {
  if (listeners.size === 0) {
    timer = setInterval(tick, TICK_MS)
    document.addEventListener('visibilitychange', tick)
  }
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    document.removeEventListener('visibilitychange', tick)
  }
}

const readTicks = () => ticks

/** The time of this rendering, and a new rendering every half minute. */
function useNow(): number {
  useSyncExternalStore(subscribe, readTicks, readTicks)
  return Date.now()
}
