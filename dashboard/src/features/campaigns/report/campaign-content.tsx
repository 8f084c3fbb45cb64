import type { Campaign } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { campaignPreviewQuery } from '../../../data/campaigns.ts'
import { useProject } from '../../../projects/current.ts'
import { MessageFrame } from '../../../ui/message/message-frame.tsx'

/** The email as it is sent, for a made-up person. */
export function CampaignContent({ campaign, inCard = false }: { campaign: Campaign; inCard?: boolean }) {
  const project = useProject()
  const preview = useQuery(campaignPreviewQuery(project.id, campaign))
  if (!preview.data?.frameUrl) return null
  return (
    <div
      className={inCard ? 'h-[32rem] max-h-[75vh] overflow-hidden rounded-b-lg' : 'h-[28rem] overflow-hidden rounded-lg border border-line'}
    >
      <MessageFrame fill images title={`Preview of ${campaign.name}`} url={preview.data.frameUrl} />
    </div>
  )
}
