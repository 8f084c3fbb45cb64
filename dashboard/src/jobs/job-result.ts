import type { Job } from '@sterna/sdk'
import { formatCount } from '../ui/text/count.tsx'

/** The counts that imports, exports and bulk jobs report, in the order they are read. */
const COUNTS: [name: string, word: string][] = [
  ['exportedCount', 'exported'],
  ['addedCount', 'added'],
  ['createdCount', 'created'],
  ['updatedCount', 'updated'],
  ['changedCount', 'changed'],
  ['unchangedCount', 'unchanged'],
  ['failureCount', 'failed'],
]

/** `1,204 changed, 3 unchanged`; undefined while the job runs. */
export function describeJobResult({ state, result, failedReason }: Pick<Job, 'state' | 'result' | 'failedReason'>): string | undefined {
  if (state === 'failed') return failedReason ?? 'It failed. Nothing more is done.'
  if (state !== 'completed') return undefined
  const counts = withChanged(result ?? {})
  const parts = COUNTS.flatMap(([name, word]) => {
    const count = counts[name]
    return typeof count === 'number' && count > 0 ? [`${formatCount(count)} ${word}`] : []
  })
  return parts.join(', ') || 'Nothing to do'
}

/** A bulk job counts the unchanged among the successes; an import counts created and updated instead. */
function withChanged(result: Record<string, unknown>): Record<string, unknown> {
  const { successCount, unchangedCount = 0, createdCount } = result
  if (typeof successCount !== 'number' || createdCount !== undefined) return result
  return { ...result, changedCount: successCount - Number(unchangedCount) }
}

/** Kinds of jobs that the tray shows. Others, such as the count of a segment, run on their own. */
const LABELS: Record<string, string> = {
  import: 'Import contacts',
  export: 'Export contacts',
  'campaign-export': 'Export recipients',
  'email-export': 'Export emails',
  'suppression-export': 'Export suppressions',
  'campaign-copy-to-segment': 'Copy recipients to a segment',
  'apply-brand': 'Apply the brand',
  'bulk-subscribe': 'Subscribe contacts',
  'bulk-unsubscribe': 'Unsubscribe contacts',
  'bulk-delete': 'Delete contacts',
  'bulk-add-to-segment': 'Add contacts to a segment',
  'delete-field': 'Delete a field',
  'delete-events': 'Delete events',
}

/** The name of a job that was started elsewhere; undefined if it is not shown. */
export const labelOf = ({ type }: Pick<Job, 'type'>): string | undefined => (Object.hasOwn(LABELS, type) ? LABELS[type] : undefined)

export const hasFailures = ({ result }: Pick<Job, 'result'>) => Number(result?.failureCount ?? 0) > 0
