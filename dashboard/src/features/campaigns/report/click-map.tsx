import type { Campaign } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { campaignLinksQuery, clickMapQuery } from '../../../data/campaigns.ts'
import { useProject } from '../../../projects/current.ts'
import { Button } from '../../../ui/form/button.tsx'
import { MessageFrame } from '../../../ui/message/message-frame.tsx'
import { Card } from '../../../ui/page/card.tsx'
import { CampaignContent } from './campaign-content.tsx'

/** The email with its clicks drawn onto it. A label opens its people in a new tab, because the frame cannot reach the dashboard. */
export function ClickMap({ campaign }: { campaign: Campaign }) {
  const [isPlain, setPlain] = useState(false)
  const preview = useClicksPreview(campaign)
  const { data } = preview
  if (preview.isError || data?.links === 0) {
    return (
      <Card
        title="Clicks on the email"
        description={preview.isError ? 'The clicks cannot be shown now.' : 'This email has no links to click.'}
        flush
      >
        <CampaignContent campaign={campaign} inCard />
      </Card>
    )
  }
  return (
    <Card
      title="Clicks on the email"
      description="Each link shows how many people clicked it, and their share of everyone who clicked. A label opens the list in a new tab."
      actions={
        <Button size="sm" onClick={() => setPlain(!isPlain)}>
          {isPlain ? 'Show clicks' : 'Hide clicks'}
        </Button>
      }
      flush
    >
      {isPlain ? (
        <CampaignContent campaign={campaign} inCard />
      ) : (
        <div className="h-[32rem] max-h-[75vh] overflow-hidden rounded-b-lg" aria-busy={data === undefined}>
          {data && <MessageFrame fill images opensTabs title={`Clicks on ${campaign.name}`} url={data.frameUrl} />}
        </div>
      )}
    </Card>
  )
}

/** Drawn again only when the clicks change: the frame would scroll back to its top. */
function useClicksPreview({ id }: Campaign) {
  const project = useProject()
  const links = useQuery(campaignLinksQuery(project.id, id)).data
  const clicks = links?.reduce((sum, each) => sum + each.clicks, 0)
  return useQuery(clickMapQuery(project.id, id, clicks))
}
