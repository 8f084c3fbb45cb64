import type { AuditEntry, Sterna } from '@sterna/sdk'
import type { ListRequest } from '../../list/list-search.ts'

type Query = NonNullable<Parameters<Sterna['projects']['audit']>[1]>

/** Types of targets, by the part of an action before the point. */
export const AUDIT_SUBJECTS: Record<string, string> = {
  billing: 'Billing',
  brand: 'Brand',
  campaign: 'Campaigns',
  campaign_export: 'Exports of campaigns',
  contact: 'Contacts',
  contact_bulk: 'Bulk changes of contacts',
  contact_export: 'Exports of contacts',
  contact_field: 'Contact fields',
  contact_import: 'Imports of contacts',
  domain: 'Domains',
  email: 'Emails',
  email_export: 'Exports of emails',
  event: 'Events',
  execution: 'Executions',
  invitation: 'Invitations',
  key: 'Keys',
  member: 'Members',
  project: 'Project',
  segment: 'Segments',
  suppression: 'Suppressions',
  suppression_export: 'Exports of suppressions',
  template: 'Templates',
  upload: 'Images',
  webhook: 'Tests of WEBHOOK steps',
  webhook_endpoint: 'Webhook endpoints',
  webhook_secret: 'Webhook secret',
  workflow: 'Workflows',
}

/** Actions whose name says something else than what a person did. */
const ACTION_WORDS: Record<string, string> = {
  'invitation.link': 'Copied an invitation link',
  'workflow.replace_graph': 'Saved the workflow',
}

/** `campaign.copy_to_segment` reads "Campaign: copy to segment". */
export function describeAction(action: string): string {
  const words = ACTION_WORDS[action]
  if (words) return words
  const [subject = '', verb = ''] = action.split('.').map((part) => part.replaceAll('_', ' '))
  return `${subject[0]?.toUpperCase() ?? ''}${subject.slice(1)}: ${verb}`
}

export const describeActor = ({ actor: { type, name } }: Pick<AuditEntry, 'actor'>) =>
  type === 'system' ? 'Sterna' : (name ?? (type === 'key' ? 'Key pair of the project' : 'A former user'))

export const describeAuditTarget = ({ target: { id, name } }: Pick<AuditEntry, 'target'>) => name ?? id ?? '–'

const auditFilter = ({ filters: { actor, action } }: Pick<ListRequest, 'filters'>): Pick<Query, 'actor' | 'action'> => ({
  ...(actor && { actor }),
  ...(action && { action }),
})

export const auditQuery = ({ limit, cursor, filters }: ListRequest): Query => ({
  limit,
  ...(cursor && { cursor }),
  ...auditFilter({ filters }),
})

export const auditFileUrl = (projectId: string, request: Pick<ListRequest, 'filters'>) =>
  `/projects/${projectId}/audit?${new URLSearchParams({ format: 'csv', ...(auditFilter(request) as Record<string, string>) })}`
