import type { Campaign } from '@sterna/sdk'
import { useParams } from '@tanstack/react-router'
import { CampaignRecord } from './campaign/campaign-record.tsx'
import { Composer } from './draft/composer.tsx'
import { ScheduledCampaign } from './draft/scheduled-campaign.tsx'
import { Report } from './report/report.tsx'

/** The composer of a draft, the countdown of a scheduled campaign, or the report. */
export function CampaignPage() {
  const { campaignId } = useParams({ from: '/app/p/$projectId/campaigns/$campaignId' })
  return <CampaignRecord id={campaignId}>{(campaign) => <CampaignView campaign={campaign} />}</CampaignRecord>
}

function CampaignView({ campaign }: { campaign: Campaign }) {
  if (campaign.status === 'DRAFT') return <Composer key={campaign.id} campaign={campaign} />
  if (campaign.status === 'SCHEDULED') return <ScheduledCampaign key={campaign.id} campaign={campaign} />
  return <Report key={campaign.id} campaign={campaign} />
}
