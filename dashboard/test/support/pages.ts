/** The pages of the dashboard, for screenshots and for the checks that hold for every page. A new page adds its line here. */

export const SIGNED_OUT: Record<string, string> = {
  'sign-in': '/sign-in',
  'sign-up': '/sign-up',
  forgot: '/forgot-password',
  reset: '/reset-password?token=x',
  invitation: '/accept-invitation?token=x',
}

/** Taken of an empty and of a full project. `{p}` is the project. */
export const PAGES: Record<string, string> = {
  overview: '/app/p/{p}',
  contacts: '/app/p/{p}/contacts',
  import: '/app/p/{p}/contacts/import',
  fields: '/app/p/{p}/contacts/fields',
  segments: '/app/p/{p}/segments',
  'segment-new': '/app/p/{p}/segments/new?name=Quiet&example=inactive',
  campaigns: '/app/p/{p}/campaigns',
  templates: '/app/p/{p}/templates',
  workflows: '/app/p/{p}/workflows',
  emails: '/app/p/{p}/emails',
  events: '/app/p/{p}/events',
  activity: '/app/p/{p}/activity',
  analytics: '/app/p/{p}/analytics',
  domains: '/app/p/{p}/domains',
  suppressions: '/app/p/{p}/suppressions',
  webhooks: '/app/p/{p}/webhooks',
  sandbox: '/app/p/{p}/sandbox',
  general: '/app/p/{p}/settings',
  brand: '/app/p/{p}/settings/brand',
  tracking: '/app/p/{p}/settings/tracking',
  keys: '/app/p/{p}/settings/keys',
  smtp: '/app/p/{p}/settings/smtp',
  team: '/app/p/{p}/settings/team',
  billing: '/app/p/{p}/settings/billing',
  security: '/app/p/{p}/settings/security',
  audit: '/app/p/{p}/settings/audit',
  sessions: '/app/p/{p}/settings/sessions',
  doctor: '/app/p/{p}/doctor',
}

/**
 * Need data: `{contact}` and `{email}` are of the full project, `{template}` is a template with two versions, `{job}` an import with a
 * failed row, `{workflow}` a workflow with branches and `{execution}` one of its executions; `{campaign}` was sent, `{draft}` and
 * `{scheduled}` were not; `{endpoint}` has a delivery, `{later}` is a scheduled email; `{segment}` has a condition, `{list}` is static. Two neighbours are never the same route: a test opens one
 * after the other without loading the dashboard again.
 */
export const FULL_ONLY: Record<string, string> = {
  contact: '/app/p/{p}/contacts/{contact}',
  'contacts-peek': '/app/p/{p}/contacts?peek={contact}',
  template: '/app/p/{p}/templates/{template}?as={contact}',
  'contacts-filtered': '/app/p/{p}/contacts?subscribed=true&field=plan%3Dpro',
  'template-phone-dark': '/app/p/{p}/templates/{template}?show=phone&dark=on',
  'contacts-no-match': '/app/p/{p}/contacts?q=nobody-like-this',
  'template-text': '/app/p/{p}/templates/{template}?show=text',
  'templates-peek': '/app/p/{p}/templates?peek={template}',
  'template-versions': '/app/p/{p}/templates/{template}?tab=versions&version=1',
  'import-done': '/app/p/{p}/contacts/import?job={job}',
  email: '/app/p/{p}/emails/{email}',
  'emails-peek': '/app/p/{p}/emails?peek={email}',
  'sandbox-no-match': '/app/p/{p}/sandbox?q=nobody-like-this',
  'email-headers': '/app/p/{p}/emails/{email}?tab=headers',
  endpoint: '/app/p/{p}/webhooks/{endpoint}',
  'email-scheduled': '/app/p/{p}/emails/{later}',
  'events-chosen': '/app/p/{p}/events?event=trial%20started',
  workflow: '/app/p/{p}/workflows/{workflow}',
  executions: '/app/p/{p}/workflows/{workflow}/executions',
  'workflow-step': '/app/p/{p}/workflows/{workflow}?step={step}',
  'workflow-live': '/app/p/{p}/workflows/{workflow}/live',
  'workflow-versions': '/app/p/{p}/workflows/{workflow}/versions?version=1',
  'workflow-visits': '/app/p/{p}/workflows/{workflow}/steps/{step}',
  'workflow-try': '/app/p/{p}/workflows/{workflow}/try?person={contact}',
  'executions-peek': '/app/p/{p}/workflows/{workflow}/executions?peek={execution}',
  'workflow-settings': '/app/p/{p}/workflows/{workflow}/settings',
  'analytics-engagement': '/app/p/{p}/analytics?tab=engagement&by=template',
  'activity-peek': '/app/p/{p}/activity?kind=email.bounced',
  'analytics-deliverability': '/app/p/{p}/analytics?tab=deliverability',
  'workflow-empty': '/app/p/{p}/workflows/{emptyWorkflow}/executions',
  campaign: '/app/p/{p}/campaigns/{campaign}',
  'campaign-recipients': '/app/p/{p}/campaigns/{campaign}/recipients',
  'campaign-excluded': '/app/p/{p}/campaigns/{campaign}/excluded',
  'campaign-draft': '/app/p/{p}/campaigns/{draft}',
  'campaign-audience': '/app/p/{p}/campaigns/{draft}/audience?part=unsubscribed',
  'campaigns-peek': '/app/p/{p}/campaigns?peek={campaign}',
  'campaign-failed': '/app/p/{p}/campaigns/{campaign}/recipients?outcome=failed',
  'campaign-scheduled': '/app/p/{p}/campaigns/{scheduled}',
  segment: '/app/p/{p}/segments/{segment}',
  'segment-condition': '/app/p/{p}/segments/{segment}/settings',
  'segment-explain': '/app/p/{p}/segments/{segment}/explain?contact={contact}',
  'segment-history': '/app/p/{p}/segments/{segment}/history',
  'segments-peek': '/app/p/{p}/segments?peek={segment}',
  'segment-static': '/app/p/{p}/segments/{list}',
  'analytics-people': '/app/p/{p}/analytics?tab=people',
}

/** `ids` are what `seedProject` made: a value for each placeholder. */
export const fillPath = (path: string, project: string, ids: Record<string, string> = {}) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'p' ? project : (ids[name] ?? '')))
