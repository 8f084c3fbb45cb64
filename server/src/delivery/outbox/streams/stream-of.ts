/** Transactional before bulk. Column `lane`. */
export const PRIORITIES = { transactional: 0, bulk: 1 } as const

/** Origin of an email. */
export type EmailSource = {
  sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW'
  campaignId?: string | null
  workflowExecutionId?: string | null
  workflowId?: string | null
  /** Sent by a person to see it. */
  test?: boolean
}

/**
 * Priority and stream of a new email. A campaign is a stream. The workflows of a project are one stream, also with low priority: 100,000 emails
 * of a workflow must not delay a password reset. A person waits for a test email, whatever it is a test of.
 */
export function streamOf({ sourceType, campaignId, test }: EmailSource, projectId: string): { priority: number; streamId: string } {
  if (test || sourceType === 'TRANSACTIONAL') return { priority: PRIORITIES.transactional, streamId: projectId }
  if (sourceType === 'WORKFLOW') return { priority: PRIORITIES.bulk, streamId: workflowStream(projectId) }
  return { priority: PRIORITIES.bulk, streamId: campaignId ?? projectId }
}

/** The id of the project as a UUIDv8, which no campaign has. */
export const workflowStream = (projectId: string) => `${projectId.slice(0, 14)}8${projectId.slice(15)}`
