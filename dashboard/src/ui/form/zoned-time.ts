/** A time as a form has it, `2026-05-09T09:00`, and the zone it is meant in. */
export type ZonedTime = { text: string; zone: string }

const TEXT = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})$/

/** The moment of a time in a zone; undefined if the text is no time. A time that a change to summer time skips is an hour later. */
export function momentOf({ text, zone }: ZonedTime): Date | undefined {
  const parts = TEXT.exec(text)
  if (!parts) return undefined
  const [year, month, day, hour, minute] = parts.slice(1).map(Number) as [number, number, number, number, number]
  const asUtc = Date.UTC(year, month - 1, day, hour, minute)
  // The offset at the guess may not be that of the moment: the second look has it.
  const guess = asUtc - offsetMs(new Date(asUtc), zone)
  return new Date(asUtc - offsetMs(new Date(guess), zone))
}

/** How far the clocks of a zone are ahead of UTC at a moment. */
function offsetMs(at: Date, zone: string): number {
  return Date.parse(`${textIn(zone, at)}:00Z`) - Math.floor(at.getTime() / 60_000) * 60_000
}

/** A moment as the clocks of a zone show it: `2026-05-09T09:00`. */
export function textIn(zone: string, at: Date): string {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  }).formatToParts(at)
  const part = (type: string) => parts.find((each) => each.type === type)!.value
  return `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}`
}

const DAY = 86_400_000
const MONDAY = 1

/** Usual times to send: the next full hours and mornings of the zone. */
export function presetsOf(zone: string, now: Date): { label: string; text: string }[] {
  const day = (days: number) => textIn(zone, new Date(now.getTime() + days * DAY)).slice(0, 10)
  const weekday = new Date(`${day(0)}T00:00:00Z`).getUTCDay()
  const toMonday = (MONDAY - weekday + 7) % 7 || 7
  return [
    { label: 'In an hour', text: textIn(zone, new Date(now.getTime() + 3_600_000)) },
    { label: 'Tomorrow, 09:00', text: `${day(1)}T09:00` },
    { label: 'Monday, 09:00', text: `${day(toMonday)}T09:00` },
  ]
}

/** `9 May, 09:00`, in a zone. */
export const shortTime = (at: Date, zone: string, locale?: string): string =>
  new Intl.DateTimeFormat(locale, { timeZone: zone, day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }).format(at)

/** `2026-05-09 07:00 UTC` */
export const utcText = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** Every zone that the browser knows, and always UTC and its own. */
export const zones = (): string[] => [...new Set([ownZone(), 'UTC', ...Intl.supportedValuesOf('timeZone')])]
