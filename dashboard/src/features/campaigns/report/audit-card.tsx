import type { Campaign, CampaignAuditEntry } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { campaignAuditQuery } from '../../../data/campaigns.ts'
import { membersQuery } from '../../../data/projects.ts'
import { useProject } from '../../../projects/current.ts'
import { Card } from '../../../ui/page/card.tsx'
import { Time } from '../../../ui/text/time.tsx'

const ACTIONS: Record<CampaignAuditEntry['action'], string> = {
  started: 'Started',
  scheduled: 'Scheduled',
  unscheduled: 'Made a draft again',
  paused: 'Paused',
  resumed: 'Resumed',
  cancelled: 'Cancelled',
  resent: 'Resent to the failed',
  rate_changed: 'Rate changed',
  sent: 'All recipients have ended',
}

/** The audit log of the campaign: actions and their actors. */
export function AuditCard({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const entries = useQuery(campaignAuditQuery(project.id, campaign)).data
  const members = useQuery(membersQuery(project.id)).data ?? []
  if (!entries?.length) return null
  const nameOf = ({ by, userId }: CampaignAuditEntry) =>
    by === 'key'
      ? 'an API key'
      : by === 'system'
        ? 'Sterna'
        : (members.find((member) => member.userId === userId)?.email ?? 'a former member')
  return (
    <Card title="What was done">
      <ol className="space-y-1.5 text-ui">
        {entries.map((entry) => (
          <li key={entry.id} className="flex flex-wrap gap-x-2">
            <span>{ACTIONS[entry.action] ?? entry.action}</span>
            <span className="text-muted">
              <Time value={entry.createdAt} /> by {nameOf(entry)}
            </span>
          </li>
        ))}
      </ol>
    </Card>
  )
}
