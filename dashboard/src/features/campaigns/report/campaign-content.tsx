import type { Campaign } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../../api.ts'
import { useProject } from '../../../projects/current.ts'
import { MessageFrame } from '../../../ui/message/message-frame.tsx'

/** The email as it is sent, for a made-up person. */
export function CampaignContent({ campaign, inCard = false }: { campaign: Campaign; inCard?: boolean }) {
  const project = useProject()
  const { id, subject, previewText, body, type, from, fromName, updatedAt } = campaign
  const preview = useQuery({
    queryKey: projectKey(project.id, 'campaigns', 'content', id, updatedAt),
    queryFn: () =>
      apiOf(project.id).templates.previewContent({
        subject,
        ...(previewText && { previewText }),
        body,
        type,
        from,
        ...(fromName && { fromName }),
        frame: true,
      }),
    // The page in the frame expires.
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  if (!preview.data?.frameUrl) return null
  return (
    <div
      className={inCard ? 'h-[32rem] max-h-[75vh] overflow-hidden rounded-b-lg' : 'h-[28rem] overflow-hidden rounded-lg border border-line'}
    >
      <MessageFrame fill images title={`Preview of ${campaign.name}`} url={preview.data.frameUrl} />
    </div>
  )
}
