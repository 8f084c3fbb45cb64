import type { Campaign, CampaignListItem } from '@sterna/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { Ban, Pause, Play } from 'lucide-react'
import { storeCampaign, waitingCount } from '../../../data/campaigns.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { DeleteRecord, RecordMenu } from '../../../projects/record-menu.tsx'
import { Confirm } from '../../../ui/dialog/dialog.tsx'
import { MenuItem } from '../../../ui/dialog/menu.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import { countOf } from '../../../ui/text/count.tsx'
import { needsResume } from './words.ts'

const PEOPLE = { one: 'person', many: 'people' }

/** Shows the new state of a campaign everywhere. */
export function useShowCampaign() {
  const project = useProject()
  const queries = useQueryClient()
  return (campaign: Campaign) => storeCampaign(queries, project.id, campaign)
}

/** Pause and resume at once; the toast offers the opposite. */
export function usePause(campaign: Pick<CampaignListItem, 'id' | 'name'>) {
  const api = useApi()
  const show = useShowCampaign()
  async function run(action: 'pause' | 'resume') {
    try {
      await show(await api.campaigns[action](campaign.id))
      toast(
        action === 'pause'
          ? `${campaign.name} is paused: sending has stopped`
          : `${campaign.name} is being sent again: no recipient gets it twice`,
      )
    } catch (error) {
      toast(explain(error), { tone: 'danger' })
    }
  }
  return { pause: () => run('pause'), resume: () => run('resume') }
}

type CampaignMenuProps = { campaign: CampaignListItem; onCancel: () => void; onDelete: () => void }

export function CampaignMenu({ campaign, onCancel, onDelete }: CampaignMenuProps) {
  const { pause, resume } = usePause(campaign)
  const { status } = campaign
  const cancel = (status === 'SENDING' || status === 'SCHEDULED') && (
    <MenuItem onSelect={onCancel}>
      <Ban aria-hidden="true" />
      Cancel…
    </MenuItem>
  )
  return (
    <RecordMenu list="campaigns" row={campaign} onDelete={onDelete} last={cancel || undefined}>
      {status === 'SENDING' && !needsResume(campaign) && (
        <MenuItem onSelect={pause}>
          <Pause aria-hidden="true" />
          Pause
        </MenuItem>
      )}
      {status === 'SENDING' && needsResume(campaign) && (
        <MenuItem onSelect={resume}>
          <Play aria-hidden="true" />
          Resume
        </MenuItem>
      )}
    </RecordMenu>
  )
}

type DialogProps = { campaign: CampaignListItem; onClose: () => void }

/** Cannot be undone, so it asks, with the numbers. */
export function CancelCampaign({ campaign, onClose }: DialogProps) {
  const api = useApi()
  const show = useShowCampaign()
  const { status, name, sentCount } = campaign
  return (
    <Confirm
      title={`Cancel ${name}?`}
      description={
        status === 'SCHEDULED'
          ? 'It will not be sent. To send it later, make it a draft again instead.'
          : `${countOf(sentCount, PEOPLE)} ${sentCount === 1 ? 'has' : 'have'} it already. Sending stops now: ${countOf(waitingCount(campaign), PEOPLE)} will not get it. A cancelled campaign cannot be resumed; pause it instead if you are not sure.`
      }
      action="Cancel campaign"
      onConfirm={async () => {
        await show(await api.campaigns.cancel(campaign.id))
        toast(`${name} was cancelled`)
      }}
      open
      onOpenChange={(open) => !open && onClose()}
    />
  )
}

export function DeleteCampaign({ campaign, ...dialog }: DialogProps & { onDeleted?: () => unknown }) {
  return (
    <DeleteRecord
      list="campaigns"
      row={campaign}
      description={
        campaign.status === 'DRAFT'
          ? 'The draft is deleted. Nothing was sent.'
          : `Its results and its list of ${countOf(campaign.totalRecipients, { one: 'recipient', many: 'recipients' })} are deleted. The emails themselves stay in the log.`
      }
      {...dialog}
    />
  )
}
