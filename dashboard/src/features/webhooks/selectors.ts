/** Types that can be ticked, by what they are about. */
export const TYPES: Record<string, Record<string, string>> = {
  Emails: {
    'email.sent': 'Sent',
    'email.delivery': 'Delivered',
    'email.open': 'Opened',
    'email.click': 'Clicked',
    'email.bounce': 'Bounced',
    'email.complaint': 'Marked as spam',
    'email.failed': 'Failed',
    'email.received': 'Received',
  },
  Contacts: {
    'contact.created': 'Created',
    'contact.deleted': 'Deleted',
    'contact.subscribed': 'Subscribed',
    'contact.unsubscribed': 'Unsubscribed',
    'segment.*': 'Entered or left a segment',
    'event.*': 'Any event that you track',
  },
  Sending: {
    'campaign.started': 'Campaign started',
    'campaign.sent': 'Campaign sent',
    'campaign.paused': 'Campaign paused',
    'workflow.completed': 'Workflow completed',
    'workflow.failed': 'Workflow failed',
  },
  Project: {
    'domain.verified': 'Domain verified',
    'domain.failed': 'Domain failed',
    'project.disabled': 'Project disabled',
    'project.enabled': 'Project enabled',
  },
}

const TICKED = new Set(Object.values(TYPES).flatMap((group) => Object.keys(group)))

/** The events of an endpoint, as the form shows them: everything, ticked types, and the rest as text. */
export function readSelectors(events: string[]) {
  return {
    all: events.includes('*'),
    ticked: events.filter((type) => TICKED.has(type)),
    others: events.filter((type) => type !== '*' && !TICKED.has(type)).join(', '),
  }
}

export const writeSelectors = ({ all, ticked, others }: ReturnType<typeof readSelectors>): string[] =>
  all
    ? ['*']
    : [
        ...ticked,
        ...others
          .split(',')
          .map((type) => type.trim())
          .filter(Boolean),
      ]

/** `Everything`, `email.bounce`, `email.bounce and 3 more`. */
export function describeSelectors(events: string[]): string {
  if (events.includes('*')) return 'Everything'
  const [first = 'Nothing', ...rest] = events
  return rest.length ? `${first} and ${rest.length} more` : first
}
