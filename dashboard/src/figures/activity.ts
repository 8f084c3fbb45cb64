import type { Activity, UpcomingActivity } from '@sterna/sdk'

type Type = Activity['type']

/** A past activity, in words that follow the time. */
export const ACTIVITY_WORDS: Record<Type, string> = {
  'event.triggered': 'Event tracked',
  'email.sent': 'Email sent',
  'email.delivered': 'Email delivered',
  'email.opened': 'Email opened',
  'email.clicked': 'Link clicked',
  'email.bounced': 'Email bounced',
  'email.complaint': 'Marked as spam',
  'email.failed': 'Email failed',
  'email.received': 'Email received',
  'email.skipped': 'Email skipped',
  'contact.subscribed': 'Subscribed',
  'contact.unsubscribed': 'Unsubscribed',
  'contact.suppressed': 'Suppressed',
  'workflow.started': 'Entered a workflow',
  'workflow.completed': 'Finished a workflow',
  'workflow.failed': 'Failed in a workflow',
  'campaign.sent': 'Campaign sent',
}

const text = (value: unknown) => (typeof value === 'string' ? value : undefined)

/** The thing that it is about: a subject, a name, an event. */
export function subjectOf({ type, metadata }: Pick<Activity, 'type' | 'metadata'>): string {
  if (type === 'event.triggered') return text(metadata.eventName) ?? ''
  const { subject, workflowName, campaignName, reason, address, domain, name } = metadata
  return [workflowName, subject, campaignName, name, address, domain, reason].map(text).find(Boolean) ?? ''
}

/** Machines, such as privacy proxies, open and click too. */
export const isByMachine = ({ metadata }: Pick<Activity, 'metadata'>): boolean => metadata.machine === true || metadata.isMachine === true

/** The page of the thing that it is about, below the project. Undefined: there is none. */
export function pathOf({ type, metadata }: Pick<Activity | UpcomingActivity, 'type' | 'metadata'>): string | undefined {
  const { workflowId, executionId, campaignId, emailId } = metadata
  if (type.startsWith('workflow.') && text(workflowId))
    return `/workflows/${workflowId}/executions${text(executionId) ? `?peek=${executionId}` : ''}`
  if (type.startsWith('email.') && text(emailId)) return `/emails/${emailId}`
  if (type.startsWith('campaign.') && text(campaignId)) return `/campaigns/${campaignId}`
  return undefined
}

/** An activity that is due, in words. */
export function describeUpcoming({ type, contactEmail, metadata }: UpcomingActivity): string {
  if (type === 'email.scheduled') return `The email ${text(metadata.subject) ?? ''} is sent`
  if (type === 'campaign.scheduled') return `${text(metadata.campaignName) ?? 'A campaign'} is sent`
  return `${contactEmail ?? 'A contact'} continues in ${text(metadata.workflowName) ?? 'a workflow'}`
}
