import type { Result } from '@sterna/sdk'
import { countOf, formatCount } from '../../ui/text/count.tsx'

export type TemplateUsage = Result<'GET /templates/{id}/usage'>

/** Where a template is used, in words: `2 campaigns (A, B) and 1 workflow (C)`; undefined if nowhere. */
export function usesOf({ campaigns, workflowSteps }: TemplateUsage): string | undefined {
  const workflows = [...new Map(workflowSteps.map(({ workflowId, workflowName }) => [workflowId, workflowName])).values()]
  const parts = [
    ...(campaigns.length > 0 ? [list(countOf(campaigns.length, { one: 'campaign', many: 'campaigns' }), names(campaigns))] : []),
    ...(workflows.length > 0 ? [list(countOf(workflows.length, { one: 'workflow', many: 'workflows' }), workflows)] : []),
  ]
  return parts.length > 0 ? parts.join(' and ') : undefined
}

const MAX_NAMES = 3
const names = (things: { name: string }[]) => things.map(({ name }) => name)
const list = (count: string, all: string[]) => `${count} (${all.slice(0, MAX_NAMES).join(', ')}${all.length > MAX_NAMES ? ', …' : ''})`

export const sentOf = ({ emailsSent }: TemplateUsage) => countOf(emailsSent, { one: 'email', many: 'emails' })

export function UsageText({ usage }: { usage: TemplateUsage }) {
  return (
    <>
      {usesOf(usage) ?? 'No campaign, no workflow'}; {sentOf(usage)} sent
    </>
  )
}

type Counts = Result<'GET /templates/usage'>['data'][number]

/** The server counts sent emails up to here. */
const COUNTED_UP_TO = 10_000

export const sentCount = ({ emailsSent }: Counts): string => `${formatCount(emailsSent)}${emailsSent >= COUNTED_UP_TO ? '+' : ''}`
