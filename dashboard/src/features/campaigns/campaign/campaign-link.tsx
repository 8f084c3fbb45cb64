import type { Campaign } from '@sterna/sdk'
import { Link } from '@tanstack/react-router'
import { useProject } from '../../../projects/current.ts'

/** The link to a campaign, before the title of one of its lists. */
export function CampaignLink({ campaign }: { campaign: Pick<Campaign, 'id' | 'name'> }) {
  const project = useProject()
  return (
    <Link
      to="/app/p/$projectId/campaigns/$campaignId"
      params={{ projectId: project.id, campaignId: campaign.id }}
      className="inline-block max-w-[9ch] truncate rounded-sm align-bottom hover:text-ink hover:underline sm:max-w-[32ch]"
      title={campaign.name}
    >
      {campaign.name}
    </Link>
  )
}
