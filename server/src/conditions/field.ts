import type { EventQuery } from '../events/last-events.ts'
import { isId } from '../lib/id.ts'
import { isEventOperator, type Operator } from './operators.ts'
import type { DataPath } from './predicate.ts'

type Activity = 'sent' | 'delivered' | 'opened' | 'clicked' | 'bounced' | 'complained'

/** The subject of a filter. */
export type ConditionField =
  | { of: 'email' | 'subscribed' | 'createdAt' | 'updatedAt' }
  | { of: 'data'; path: DataPath }
  | { of: 'event'; event: EventQuery }
  | { of: 'segment'; id: string }

const STANDARD = new Map<string, ConditionField>((['email', 'subscribed', 'createdAt', 'updatedAt'] as const).map((of) => [of, { of }]))

/** Events by activity. Opens and clicks of machines (link scanners, mail proxies) are no activity of the contact. */
const ACTIVITIES: Record<Activity, EventQuery> = {
  sent: { name: 'email.sent', humanOnly: false },
  delivered: { name: 'email.delivery', humanOnly: false },
  opened: { name: 'email.open', humanOnly: true },
  clicked: { name: 'email.click', humanOnly: true },
  bounced: { name: 'email.bounce', humanOnly: false },
  complained: { name: 'email.complaint', humanOnly: false },
}

const SPELLINGS = new Map<string, Activity>([
  ...(Object.keys(ACTIVITIES) as Activity[]).map((activity) => [activity, activity] as const),
  ['send', 'sent'],
  ['delivery', 'delivered'],
  ['deliver', 'delivered'],
  ['open', 'opened'],
  ['click', 'clicked'],
  ['bounce', 'bounced'],
  ['complain', 'complained'],
  ['complaint', 'complained'],
])

const MAX_EVENT_NAME = 255
/** Bodies, and so stored data, are not nested deeper. */
const MAX_STEPS = 32
/** Characters that a path cannot contain: reserved, so that a path can be part of an expression in text some day. */
const RESERVED_IN_PATH = /[=;`\\\p{Cc}\u2028\u2029]/u

/** Undefined if there is no such field. The operator decides about bare names: `purchase` is an event only for operators of events. */
export function readField(text: string, operator: Operator): ConditionField | undefined {
  const standard = STANDARD.get(text)
  if (standard) return standard
  const [, prefix = '', rest = ''] = /^(data|event|email|segment)\.(.*)$/s.exec(text) ?? []
  if (prefix === 'data') return readDataPath(rest)
  if (prefix === 'event') return readEvent(rest)
  if (prefix === 'email') return readActivity(rest)
  if (prefix === 'segment' && isId(rest)) return { of: 'segment', id: rest.toLowerCase() }
  return isEventOperator(operator) ? readEvent(text) : undefined
}

function readDataPath(key: string): ConditionField | undefined {
  const steps = key.split('.')
  return key === '' || steps.length > MAX_STEPS || RESERVED_IN_PATH.test(key) ? undefined : { of: 'data', path: { key, steps } }
}

const readEvent = (name: string): ConditionField | undefined =>
  name === '' || name.length > MAX_EVENT_NAME ? undefined : { of: 'event', event: { name, humanOnly: false } }

function readActivity(spelling: string): ConditionField | undefined {
  const activity = SPELLINGS.get(spelling)
  return activity && { of: 'event', event: ACTIVITIES[activity] }
}
