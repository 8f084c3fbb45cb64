import type { Campaign } from '@sterna/sdk'
import { useNavigate } from '@tanstack/react-router'
import { Pause, Play } from 'lucide-react'
import { useState } from 'react'
import { useProject } from '../../../projects/current.ts'
import { MoreActions } from '../../../ui/dialog/menu.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { LinkTabs } from '../../../ui/page/link-tabs.tsx'
import { CampaignMenu, CancelCampaign, DeleteCampaign, usePause } from '../campaign/campaign-menu.tsx'
import { needsResume } from '../campaign/words.ts'
import { CopyToSegment } from '../recipients/copy-to-segment.tsx'
import type { RecipientFilters } from '../recipients/recipients-query.ts'
import { Resend } from './resend.tsx'

/** The parts of a campaign that has started. */
export function ReportTabs({ campaign }: { campaign: Campaign }) {
  const { id } = useProject()
  const base = `/app/p/${id}/campaigns/${campaign.id}`
  return (
    <LinkTabs
      label="Campaign"
      tabs={[
        { path: base, label: 'Results' },
        { path: `${base}/recipients`, label: 'Recipients' },
        { path: `${base}/excluded`, label: 'Left out' },
      ]}
    />
  )
}

type ReportActionsProps = {
  campaign: Campaign
  /** The recipients on screen, if only some of them are. */
  shown?: { filter: RecipientFilters; total: number } | undefined
}

/** The buttons of a campaign that has started, on all its pages. */
export function ReportActions({ campaign, shown }: ReportActionsProps) {
  const project = useProject()
  const navigate = useNavigate()
  const { pause, resume } = usePause(campaign)
  const [cancelling, setCancelling] = useState(false)
  const [deleting, setDeleting] = useState(false)
  const isSending = campaign.status === 'SENDING'
  return (
    <>
      {isSending && !needsResume(campaign) && (
        <Button size="sm" onClick={pause} title="Stops sending until you resume it">
          <Pause aria-hidden="true" />
          Pause
        </Button>
      )}
      {isSending && needsResume(campaign) && (
        <Button size="sm" variant="primary" onClick={resume} title="No recipient gets it twice">
          <Play aria-hidden="true" />
          Resume
        </Button>
      )}
      <CopyToSegment campaign={campaign} {...(shown && { shown })} />
      <Resend campaign={campaign} />
      <MoreActions>
        <CampaignMenu campaign={campaign} onCancel={() => setCancelling(true)} onDelete={() => setDeleting(true)} />
      </MoreActions>
      {cancelling && <CancelCampaign campaign={campaign} onClose={() => setCancelling(false)} />}
      {deleting && (
        <DeleteCampaign
          campaign={campaign}
          onClose={() => setDeleting(false)}
          onDeleted={() => navigate({ to: '/app/p/$projectId/campaigns', params: { projectId: project.id } })}
        />
      )}
    </>
  )
}
