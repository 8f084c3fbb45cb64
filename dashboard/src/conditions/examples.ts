import type { ConditionInput } from '@sterna/sdk'

type Filter = ConditionInput['groups'][number]['filters'][number]
export type ConditionExample = { id: string; name: string; condition: ConditionInput }

const all = (...filters: Filter[]): ConditionInput => ({ logic: 'AND', groups: [{ filters }] })
const SUBSCRIBED: Filter = { field: 'subscribed', operator: 'equals', value: true }

/** Conditions that most projects need. */
export const CONDITION_EXAMPLES: ConditionExample[] = [
  {
    id: 'inactive',
    name: 'Opened nothing for 90 days',
    condition: all(SUBSCRIBED, { field: 'email.opened', operator: 'notTriggeredWithin', value: 90, unit: 'days' }),
  },
  {
    id: 'clickers',
    name: 'Clicked in the last 30 days',
    condition: all({ field: 'email.clicked', operator: 'triggeredWithin', value: 30, unit: 'days' }),
  },
  { id: 'new', name: 'New this week', condition: all({ field: 'createdAt', operator: 'within', value: 7, unit: 'days' }) },
  { id: 'plan', name: 'On the plan “pro”', condition: all({ field: 'data.plan', operator: 'equals', value: 'pro' }) },
  {
    id: 'silent-signups',
    name: 'Signed up, bought nothing',
    condition: all({ field: 'event.signup', operator: 'triggered' }, { field: 'event.purchase', operator: 'notTriggered' }),
  },
  { id: 'unsubscribed', name: 'Unsubscribed', condition: all({ field: 'subscribed', operator: 'equals', value: false }) },
]
