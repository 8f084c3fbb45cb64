import type { Activity } from '@sterna/sdk'
import { ACTIVITY_WORDS, isByMachine, pathOf } from '../../../figures/activity.ts'

export const ENTRY_KINDS = {
  email: 'Emails',
  subscription: 'Subscription',
  segment: 'Segments',
  workflow: 'Workflows',
  event: 'Events',
} as const
export type Kind = keyof typeof ENTRY_KINDS

/** `path` is below the project; `data` is what the customer tracked. */
export type TimelineEntry = { kind: Kind; title: string; detail?: string; path?: string; data?: Record<string, unknown> }

export type SegmentsBySlug = Record<string, { id: string; name: string }>

export const isKind = (value: string | undefined): value is Kind => value !== undefined && Object.hasOwn(ENTRY_KINDS, value)

const KIND_OF_AREA: Record<string, Kind> = { email: 'email', contact: 'subscription', workflow: 'workflow' }

/** The types of a kind, as the API filters. Entries and exits of segments are events for the API: the browser tells them apart. */
export function typesOf(kind: Kind): string {
  if (kind === 'segment' || kind === 'event') return 'event.triggered'
  return Object.keys(ACTIVITY_WORDS)
    .filter((type) => KIND_OF_AREA[type.split('.')[0]!] === kind)
    .join(',')
}

/** An activity of a contact, in words. */
export function describeEntry({ type, metadata }: Pick<Activity, 'type' | 'metadata'>, segments: SegmentsBySlug = {}): TimelineEntry {
  if (type === 'event.triggered') return describeEvent(metadata, segments)
  const kind = KIND_OF_AREA[type.split('.')[0]!] ?? 'event'
  const path = pathOf({ type, metadata })
  const detail = detailOf(metadata)
  return { kind, title: titleOf({ type, metadata }), ...(detail && { detail }), ...(path && { path }) }
}

function titleOf({ type, metadata }: Pick<Activity, 'type' | 'metadata'>): string {
  if (type === 'email.bounced' && metadata.bounceType === 'Transient') return 'Soft bounce'
  const title = ACTIVITY_WORDS[type] ?? type
  return isByMachine({ metadata }) ? `${title} by a machine` : title
}

function detailOf({ workflowName, subject, link, reason, error }: Record<string, unknown>): string {
  return [workflowName, subject, link, reason ?? error].filter((part) => typeof part === 'string' && part !== '').join(' · ')
}

/** The names of platform events are reserved: customers cannot track one that looks like a segment. */
function describeEvent({ eventName, data }: Record<string, unknown>, segments: SegmentsBySlug): TimelineEntry {
  const name = String(eventName)
  const segment = /^segment\.(.+)\.(entry|exit)$/s.exec(name)
  if (segment) {
    const [, slug = '', change] = segment
    // The events of a deleted segment stay, with its slug.
    const known = Object.hasOwn(segments, slug) ? segments[slug] : undefined
    const title = `${change === 'entry' ? 'Entered' : 'Left'} the segment ${known?.name ?? slug}`
    return { kind: 'segment', title, ...(known && { path: `/segments/${known.id}` }) }
  }
  const hasData = typeof data === 'object' && data !== null && Object.keys(data).length > 0
  return { kind: 'event', title: name, ...(hasData && { data: { ...data } }) }
}

type Dated = { timestamp: string }

/** Entries of one local day each, in the order they come. */
export function groupByDay<T extends Dated>(entries: T[], dayOf: (entry: T) => string = localDay): { day: string; entries: T[] }[] {
  const days: { day: string; entries: T[] }[] = []
  for (const entry of entries) {
    const day = dayOf(entry)
    if (days.at(-1)?.day === day) days.at(-1)!.entries.push(entry)
    else days.push({ day, entries: [entry] })
  }
  return days
}

const localDay = ({ timestamp }: Dated) => new Intl.DateTimeFormat(undefined, { dateStyle: 'full' }).format(new Date(timestamp))
