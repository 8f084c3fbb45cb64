export const OPERATORS = [
  'equals',
  'notEquals',
  'contains',
  'notContains',
  'greaterThan',
  'lessThan',
  'greaterThanOrEqual',
  'lessThanOrEqual',
  'exists',
  'notExists',
  'within',
  'olderThan',
  'triggered',
  'notTriggered',
  'triggeredWithin',
  'triggeredOlderThan',
  'notTriggeredWithin',
  'memberOfSegment',
  'notMemberOfSegment',
] as const
export type Operator = (typeof OPERATORS)[number]

export const UNITS = ['days', 'hours', 'minutes'] as const
export type Unit = (typeof UNITS)[number]

export const COMPARISONS = ['greaterThan', 'lessThan', 'greaterThanOrEqual', 'lessThanOrEqual'] as const satisfies Operator[]
export type Comparison = (typeof COMPARISONS)[number]

const TIME_OPERATORS = ['equals', 'notEquals', ...COMPARISONS, 'within', 'olderThan'] as const satisfies Operator[]
const EVENT_OPERATORS = [
  'triggered',
  'notTriggered',
  'triggeredWithin',
  'triggeredOlderThan',
  'notTriggeredWithin',
] as const satisfies Operator[]
export type EventOperator = (typeof EVENT_OPERATORS)[number]

/** Operators of events that take a period. */
export const PERIODIC: ReadonlySet<Operator> = new Set(['triggeredWithin', 'triggeredOlderThan', 'notTriggeredWithin'])

/** Operators by kind of field. */
export const TAKEN = {
  email: ['equals', 'notEquals', 'contains', 'notContains'],
  subscribed: ['equals', 'notEquals'],
  time: TIME_OPERATORS,
  data: [...TIME_OPERATORS, 'contains', 'notContains', 'exists', 'notExists'],
  event: EVENT_OPERATORS,
  segment: ['memberOfSegment', 'notMemberOfSegment'],
} as const satisfies Record<string, readonly Operator[]>

export const isEventOperator = (operator: Operator): operator is EventOperator =>
  (EVENT_OPERATORS as readonly Operator[]).includes(operator)
