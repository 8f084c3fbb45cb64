import type { Workflow } from '@sterna/sdk'
import { ownValue } from '../../../ui/form/own-value.ts'

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

type Trigger = Pick<Workflow, 'triggerType' | 'triggerConfig'>

/** The trigger, in a few words. */
export function describeTrigger({ triggerType, triggerConfig }: Trigger, segments: Record<string, string>): string {
  if (triggerType === 'EVENT') return `On ${text(triggerConfig.eventName)}`
  if (triggerType === 'MANUAL') return 'By request only'
  const members = segments[text(triggerConfig.segmentId)] ?? 'a segment'
  return `${text(triggerConfig.schedule)} (${text(triggerConfig.timezone) || 'UTC'}), members of ${members}`
}

/** The consequences of turning the workflow on, in sentences. */
export function describeStart({ triggerType, triggerConfig }: Trigger, segments: Record<string, string>): string {
  if (triggerType === 'EVENT')
    return `From now on a contact enters when ${text(triggerConfig.eventName)} happens. Past events start nothing.`
  if (triggerType === 'MANUAL') return 'Contacts enter only when you start it for them, here or by the API.'
  const members = segments[text(triggerConfig.segmentId)] ?? 'a segment'
  return `At every ${text(triggerConfig.schedule)} (${text(triggerConfig.timezone) || 'UTC'}) all members of ${members} enter.`
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
  too_many_emails: 'it sent the contact 20 emails within an hour',
  no_date: 'the contact has no such date',
  project_reset: 'the project was reset',
}

/** A reason of the engine in words. Reasons of customers, such as that of an EXIT step, stay as they are. */
export const describeReason = (reason: string): string => ownValue(REASONS, reason) ?? reason
