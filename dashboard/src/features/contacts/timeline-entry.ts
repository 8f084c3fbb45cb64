import type { Event } from '@sterna/sdk'

export const KINDS = { email: 'Emails', subscription: 'Subscription', segment: 'Segments', event: 'Events' } as const
export type Kind = keyof typeof KINDS

export type TimelineEntry = { kind: Kind; title: string; detail?: string }

const EMAIL_WORDS: Record<string, string> = {
  'email.sent': 'Email sent',
  'email.delivery': 'Email delivered',
  'email.open': 'Email opened',
  'email.click': 'Link clicked',
  'email.bounce': 'Email bounced',
  'email.complaint': 'Marked as spam',
  'email.failed': 'Email failed',
  'email.received': 'Email received',
}

/** An event in words. The names of platform events are reserved, so that customers cannot track one. */
export function describeEvent({ name, data }: Pick<Event, 'name' | 'data'>): TimelineEntry {
  if (name.startsWith('email.')) return { kind: 'email', title: emailTitle(name, data), ...optional(emailDetail(data)) }
  if (name === 'contact.subscribed') return { kind: 'subscription', title: 'Subscribed' }
  if (name === 'contact.unsubscribed') return { kind: 'subscription', title: 'Unsubscribed' }
  const segment = /^segment\.(.+)\.(entry|exit)$/s.exec(name)
  if (segment) return { kind: 'segment', title: `${segment[2] === 'entry' ? 'Entered' : 'Left'} the segment ${segment[1]}` }
  return { kind: 'event', title: name }
}

const optional = (detail: string | undefined) => (detail ? { detail } : {})

function emailTitle(name: string, data: Record<string, unknown>): string {
  const title = EMAIL_WORDS[name] ?? name
  if (name === 'email.bounce' && data.bounceType === 'Transient') return 'Email bounced for now'
  return data.machine === true ? `${title} by a machine` : title
}

function emailDetail(data: Record<string, unknown>): string | undefined {
  const parts = [data.subject, data.link, data.reason ?? data.error].filter((part) => typeof part === 'string' && part !== '')
  return parts.join(' · ') || undefined
}

type Dated = { createdAt: string }

/** Events of one local day each, in the order they come. */
export function groupByDay<T extends Dated>(events: T[], dayOf: (event: T) => string = localDay): { day: string; events: T[] }[] {
  const days: { day: string; events: T[] }[] = []
  for (const event of events) {
    const day = dayOf(event)
    if (days.at(-1)?.day === day) days.at(-1)!.events.push(event)
    else days.push({ day, events: [event] })
  }
  return days
}

const localDay = ({ createdAt }: Dated) => new Intl.DateTimeFormat(undefined, { dateStyle: 'full' }).format(new Date(createdAt))
