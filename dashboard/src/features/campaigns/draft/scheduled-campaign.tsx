import type { Campaign } from '@sterna/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { preflightQuery } from '../../../data/campaigns.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { ListLink } from '../../../projects/record-page.tsx'
import { MoreActions } from '../../../ui/dialog/menu.tsx'
import { Fact, Facts } from '../../../ui/dialog/peek-panel.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { ownZone, shortTime } from '../../../ui/form/zoned-time.ts'
import { Banner } from '../../../ui/notice/banner.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import { Card } from '../../../ui/page/card.tsx'
import { Page } from '../../../ui/page/page.tsx'
import { Status } from '../../../ui/text/status.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { CampaignMenu, CancelCampaign, useShowCampaign } from '../campaign/campaign-menu.tsx'
import { audienceName } from '../campaign/words.ts'
import { CampaignContent } from '../report/campaign-content.tsx'
import { AudienceSum } from './audience-sum.tsx'
import { bodyOf, campaignValuesOf } from './campaign-values.ts'

/** A campaign that starts this soon is the undo of "send now". */
const UNDO_MS = 61_000

/** A campaign that waits for its time. Within the last minute it counts down. */
export function ScheduledCampaign({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const [cancelling, setCancelling] = useState(false)
  const preflight = useQuery(preflightQuery(project.id, campaign.id, campaign.updatedAt)).data
  const { unschedule, sendNow } = useSchedule(campaign)
  const at = Date.parse(campaign.scheduledFor ?? '')
  const left = useSecondsUntil(at)
  const isUndo = at - Date.now() < UNDO_MS
  return (
    <Page
      title={campaign.name}
      parent={<ListLink kind="Campaign" />}
      count={<Status kind="campaign" status="SCHEDULED" />}
      width="full"
      actions={
        <>
          {!isUndo && (
            <Button size="sm" busy={unschedule.isPending} onClick={() => unschedule.mutate()}>
              Make it a draft again
            </Button>
          )}
          <MoreActions>
            <CampaignMenu campaign={campaign} onCancel={() => setCancelling(true)} onDelete={() => {}} />
          </MoreActions>
        </>
      }
    >
      {isUndo ? (
        <Banner
          tone="info"
          action={
            <span className="flex gap-2">
              <Button size="sm" busy={sendNow.isPending} onClick={() => sendNow.mutate()}>
                Send now
              </Button>
              <Button size="sm" variant="primary" busy={unschedule.isPending} onClick={() => unschedule.mutate()}>
                Undo
              </Button>
            </span>
          }
        >
          {left > 0 ? `Starts in ${left} s.` : 'Starting…'} Nothing has been sent yet.
        </Banner>
      ) : (
        <Banner tone="info">
          Starts <Time value={campaign.scheduledFor!} />, {shortTime(new Date(at), ownZone())}. It goes to everyone who matches at that
          time.
        </Banner>
      )}
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
        <Card title="People">
          <Facts>
            <Fact label="Audience">{audienceName(campaign)}</Fact>
            <Fact label="From">{[campaign.fromName, campaign.from].filter(Boolean).join(', ')}</Fact>
            <Fact label="Subject">{campaign.subject}</Fact>
            {campaign.previewText && <Fact label="Preview text">{campaign.previewText}</Fact>}
          </Facts>
          <div className="mt-3 rounded-lg bg-sunken px-3 py-2.5">
            {preflight ? (
              <AudienceSum campaignId={campaign.id} audience={preflight.audience} />
            ) : (
              <p className="text-muted text-ui">Counting who gets it…</p>
            )}
          </div>
        </Card>
        <CampaignContent campaign={campaign} />
      </div>
      {cancelling && <CancelCampaign campaign={campaign} onClose={() => setCancelling(false)} />}
    </Page>
  )
}

function useSchedule(campaign: Campaign) {
  const api = useApi()
  const show = useShowCampaign()
  const onError = (error: Error) => toast(explain(error), { tone: 'danger' })
  return {
    unschedule: useMutation({
      mutationFn: async () => show(await api.campaigns.update(campaign.id, { ...bodyOf(campaignValuesOf(campaign)), scheduledFor: null })),
      onSuccess: () => toast(`${campaign.name} is a draft again. Nothing was sent.`),
      onError,
    }),
    sendNow: useMutation({ mutationFn: async () => show(await api.campaigns.send(campaign.id)), onError }),
  }
}

/** Whole seconds until a moment, counted down while it is near. */
function useSecondsUntil(at: number): number {
  const [now, setNow] = useState(Date.now)
  const isNear = at - now < UNDO_MS && at > now
  useEffect(() => {
    if (!isNear) return
    const timer = setInterval(() => setNow(Date.now()), 250)
    return () => clearInterval(timer)
  }, [isNear])
  return Math.max(0, Math.ceil((at - now) / 1_000))
}
