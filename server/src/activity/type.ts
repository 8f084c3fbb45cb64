import { sql } from 'kysely'
import { RECORDED_ACTIVITIES, type RecordedActivity } from '../events/activities.ts'

/** The type of each event that the service records. Every other event is `event.triggered`. */
const NAME_OF_TYPE = {
  'email.sent': 'email.sent',
  'email.delivered': 'email.delivery',
  'email.opened': 'email.open',
  'email.clicked': 'email.click',
  'email.bounced': 'email.bounce',
  'email.complaint': 'email.complaint',
  'email.failed': 'email.failed',
  'email.received': 'email.received',
  'contact.subscribed': 'contact.subscribed',
  'contact.unsubscribed': 'contact.unsubscribed',
} as const

const TRIGGERED = 'event.triggered'

export const ACTIVITY_TYPES = [TRIGGERED, ...(Object.keys(NAME_OF_TYPE) as (keyof typeof NAME_OF_TYPE)[]), ...RECORDED_ACTIVITIES] as const
export type ActivityType = (typeof ACTIVITY_TYPES)[number]

const TYPE_OF_NAME = new Map<string, ActivityType>(Object.entries(NAME_OF_TYPE).map(([type, name]) => [name, type as ActivityType]))
const MAPPED_NAMES = Object.values(NAME_OF_TYPE) as string[]

export const typeOfEvent = (name: string): ActivityType => TYPE_OF_NAME.get(name) ?? TRIGGERED

/** Condition on an event: has no activity type. */
export const IS_TRIGGERED = sql`name <> all(${MAPPED_NAMES}::text[])`

/** Types that a filter selects. */
export type WantedTypes = {
  /** Names of events. */
  names: string[]
  /** All events with other names too. */
  triggered: boolean
  recorded: RecordedActivity[]
}

/** From a list with commas; unknown types are left out. Undefined: no filter. */
export function readTypes(given: string | undefined): WantedTypes | undefined {
  if (given === undefined || given.trim() === '') return undefined
  const types = new Set(given.split(',').map((type) => type.trim()))
  return {
    names: Object.entries(NAME_OF_TYPE).flatMap(([type, name]) => (types.has(type) ? [name] : [])),
    triggered: types.has(TRIGGERED),
    recorded: RECORDED_ACTIVITIES.filter((type) => types.has(type)),
  }
}
