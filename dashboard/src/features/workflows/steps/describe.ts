import type { Workflow } from '@sterna/sdk'
import { readConditionText } from '../../../conditions/condition-text.ts'
import { describeCondition, describeField, describeFilter, type SegmentNames } from '../../../conditions/sentence.ts'
import { ownValue } from '../../../ui/form/own-value.ts'
import type { Graph, Step, StepType } from './graph.ts'

export const STEP_WORDS: Record<StepType, string> = {
  TRIGGER: 'Start',
  SEND_EMAIL: 'Send an email',
  DELAY: 'Wait some time',
  WAIT_FOR_EVENT: 'Wait for an event',
  CONDITION: 'Ask a question',
  WEBHOOK: 'Call a webhook',
  UPDATE_CONTACT: 'Update the contact',
  EXIT: 'Leave the workflow',
}

/** Steps that can be added, in the order of the menu. */
export const ADDABLE = ['SEND_EMAIL', 'DELAY', 'WAIT_FOR_EVENT', 'CONDITION', 'UPDATE_CONTACT', 'WEBHOOK', 'EXIT'] as const

/** The config of a new step. What a user must choose is empty. */
export const NEW_CONFIGS: Record<(typeof ADDABLE)[number], Record<string, unknown>> = {
  SEND_EMAIL: { templateId: '', recipient: { type: 'CONTACT' } },
  DELAY: { amount: 1, unit: 'days' },
  WAIT_FOR_EVENT: { eventName: '', timeout: 3 * 86_400 },
  CONDITION: { field: 'subscribed', operator: 'equals', value: true },
  WEBHOOK: { url: '', method: 'POST', headers: {} },
  UPDATE_CONTACT: { updates: {}, subscriptionAction: 'none' },
  EXIT: { reason: null },
}

type Names = { templates: Record<string, string>; segments: Record<string, string> }

/** What a step does, in one line. */
export function describeStep({ type, config }: Pick<Step, 'type' | 'config'>, names: Names): string {
  switch (type) {
    case 'TRIGGER':
      return ''
    case 'SEND_EMAIL': {
      const recipient = config.recipient as { type?: string; customEmail?: string } | undefined
      const template = text(config.templateId) ? (names.templates[text(config.templateId)] ?? 'a deleted template') : 'no template yet'
      return recipient?.type === 'CUSTOM' ? `${template}, to ${recipient.customEmail || 'no address yet'}` : template
    }
    case 'DELAY':
      return countOfUnit(Number(config.amount), text(config.unit))
    case 'WAIT_FOR_EVENT': {
      const event = text(config.eventName) || 'no event yet'
      return typeof config.timeout === 'number' ? `${event}, at most ${describeSeconds(config.timeout)}` : `${event}, without a limit`
    }
    case 'CONDITION':
      return describeQuestion(config, names.segments)
    case 'WEBHOOK':
      return `${text(config.method) || 'POST'} ${text(config.url) || 'no address yet'}`
    case 'UPDATE_CONTACT':
      return describeUpdate(config)
    case 'EXIT':
      return text(config.reason)
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const countOfUnit = (amount: number, unit: string) => `${amount} ${amount === 1 ? unit.replace(/s$/, '') : unit}`

const UNITS = [
  ['days', 86_400],
  ['hours', 3_600],
  ['minutes', 60],
] as const

/** Seconds in the largest unit that divides them. */
export function splitSeconds(seconds: number): { amount: number; unit: 'days' | 'hours' | 'minutes' } {
  const [unit, size] = UNITS.find(([, each]) => seconds >= each && seconds % each === 0) ?? (['minutes', 60] as const)
  return { amount: seconds / size, unit }
}

export const secondsOf = (amount: number, unit: string): number => Math.round(amount * (UNITS.find(([name]) => name === unit)?.[1] ?? 60))

function describeSeconds(seconds: number): string {
  const { amount, unit } = splitSeconds(seconds)
  return countOfUnit(amount, unit)
}

function describeUpdate(config: Step['config']): string {
  const updates = Object.entries((config.updates ?? {}) as Record<string, unknown>)
  const action = text(config.subscriptionAction)
  const parts = [
    ...updates.map(([key, value]) => (value === null ? `delete ${key}` : `${key} = ${showValue(value)}`)),
    ...(action === 'subscribe' || action === 'unsubscribe' ? [action] : []),
  ]
  return parts.join(', ') || 'nothing yet'
}

/** Operators without a value, and those whose value is a period. */
export const WITHOUT_VALUE = new Set(['exists', 'notExists', 'triggered', 'notTriggered', 'memberOfSegment', 'notMemberOfSegment'])
export const WITH_UNIT = new Set(['within', 'olderThan', 'triggeredWithin', 'triggeredOlderThan', 'notTriggeredWithin'])

type Filter = { operator: string; value?: unknown }

/** The question of a CONDITION step as a sentence. */
export function describeQuestion(config: Step['config'], segments: SegmentNames): string {
  if (config.mode === 'multi') {
    const branches = Array.isArray(config.branches) ? config.branches.length : 0
    return `${describeField(text(config.field), segments)}: ${branches} ${branches === 1 ? 'answer' : 'answers'}`
  }
  if (config.groups !== undefined) {
    const read = readConditionText(JSON.stringify(config))
    // Stored conditions and typed ones have the same operators.
    return 'problem' in read ? read.problem : describeCondition(read.condition as Parameters<typeof describeCondition>[0], segments)
  }
  return describeFilter(config as Parameters<typeof describeFilter>[0], segments)
}

const showValue = (value: unknown) => (typeof value === 'string' ? `“${value}”` : (JSON.stringify(value) ?? '…'))

type Trigger = Pick<Workflow, 'triggerType' | 'triggerConfig'>

/** What makes contacts enter, in a few words. */
export function describeTrigger({ triggerType, triggerConfig }: Trigger, segments: Record<string, string>): string {
  if (triggerType === 'EVENT') return `On ${text(triggerConfig.eventName)}`
  if (triggerType === 'MANUAL') return 'By request only'
  const members = segments[text(triggerConfig.segmentId)] ?? 'a segment'
  return `${text(triggerConfig.schedule)} (${text(triggerConfig.timezone) || 'UTC'}), members of ${members}`
}

/** What turning the workflow on starts, in sentences. */
export function describeStart({ triggerType, triggerConfig }: Trigger, segments: Record<string, string>): string {
  if (triggerType === 'EVENT')
    return `From now on a contact enters when ${text(triggerConfig.eventName)} happens. Events of the past start nothing.`
  if (triggerType === 'MANUAL') return 'Contacts enter only when you start it for them, here or by the API.'
  const members = segments[text(triggerConfig.segmentId)] ?? 'a segment'
  return `At every ${text(triggerConfig.schedule)} (${text(triggerConfig.timezone) || 'UTC'}) all members of ${members} enter.`
}

/** Why a step cannot work yet; undefined if it can. The server checks all of it again. */
export function problemOfStep({ type, config }: Pick<Step, 'type' | 'config'>): string | undefined {
  switch (type) {
    case 'SEND_EMAIL': {
      if (!text(config.templateId)) return 'Choose a template.'
      const recipient = config.recipient as { type?: string; customEmail?: string } | undefined
      return recipient?.type === 'CUSTOM' && !recipient.customEmail?.includes('@') ? 'Enter the address it goes to.' : undefined
    }
    case 'DELAY':
      return Number(config.amount) > 0 ? undefined : 'A delay must be longer than nothing.'
    case 'WAIT_FOR_EVENT':
      if (!text(config.eventName).trim()) return 'Name the event.'
      return config.timeout !== null && !(Number(config.timeout) >= 1) ? 'The limit must be longer than nothing.' : undefined
    case 'WEBHOOK':
      return /^https?:\/\/./.test(text(config.url)) ? undefined : 'Enter an address that begins with https://.'
    case 'UPDATE_CONTACT': {
      const isEmpty =
        Object.keys((config.updates ?? {}) as object).length === 0 && !/^(un)?subscribe$/.test(text(config.subscriptionAction))
      return isEmpty ? 'Name a field, or change the subscription.' : undefined
    }
    case 'CONDITION':
      return problemOfCondition(config)
    default:
      return undefined
  }
}

function problemOfCondition(config: Step['config']): string | undefined {
  if (config.groups !== undefined) {
    const read = readConditionText(JSON.stringify(config))
    return 'problem' in read ? read.problem : undefined
  }
  if (!text(config.field).trim()) return 'Name the field that it asks for.'
  if (config.mode !== 'multi') return problemOfValue(config as unknown as Filter)
  const branches = (config.branches ?? []) as (Filter & { name?: string })[]
  if (branches.length === 0) return 'Add an answer.'
  if (branches.some(({ name }) => !name?.trim())) return 'Name every answer.'
  return branches.map(problemOfValue).find(Boolean)
}

const problemOfValue = ({ operator, value }: Filter) =>
  !WITHOUT_VALUE.has(operator) && (value === undefined || value === '') ? 'Enter the value to compare with.' : undefined

/** Everything that keeps a graph from being saved, by step. */
export const problemsOf = ({ steps }: Graph): Map<string, string> =>
  new Map(
    steps.flatMap((step) => {
      const problem = step.name.trim() ? problemOfStep(step) : 'A step needs a name.'
      return problem ? [[step.id, problem] as const] : []
    }),
  )

/** Text of an input as the value it looks like: `3` is a number, `true` a boolean, `null` deletes a field. */
export function parseValue(input: string): string | number | boolean | null {
  if (input === 'true' || input === 'false') return input === 'true'
  if (input === 'null') return null
  return /^-?\d+(\.\d+)?$/.test(input) ? Number(input) : input
}

const REASONS: Record<string, string> = {
  unsubscribed: 'the contact is not subscribed',
  suppressed: 'the address is suppressed',
  contact_deleted: 'the contact was deleted',
  template_deleted: 'the template was deleted',
  no_sender: 'the template has no sender',
  domain_not_verified: 'the domain of the sender is not verified',
  billing_limit: 'the cap of this month is reached',
  cancelled: 'it was cancelled',
  too_many_steps: 'it came to 1,000 steps',
  too_many_emails: 'the contact had 20 emails of it within an hour',
  project_reset: 'the project was reset',
}

/** A reason of the engine in words. Reasons of customers, such as that of an EXIT step, stay as they are. */
export const describeReason = (reason: string): string => ownValue(REASONS, reason) ?? reason
