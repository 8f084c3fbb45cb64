import type { Campaign } from '@sterna/sdk'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { waitingCount } from '../../../data/campaigns.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { Popover } from '../../../ui/dialog/popover.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { Input } from '../../../ui/form/input.tsx'
import { Banner } from '../../../ui/notice/banner.tsx'
import { PathLink } from '../../../ui/page/path-link.tsx'
import { formatCount } from '../../../ui/text/count.tsx'
import { usePause, useShowCampaign } from '../campaign/campaign-menu.tsx'
import { needsResume, PAUSE_WORDS, SLOWDOWN_WORDS } from '../campaign/words.ts'
import { RecipientsLink } from '../recipients/recipients-link.tsx'
import { OutcomeSum } from './outcome-sum.tsx'
import { addSample, ratePerMinute, type Sample, timeLeft } from './pace.ts'

/** How far it is, how fast, until when, and why it is slow or waits. */
export function SendingProgress({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const rate = useRate(campaign)
  const { resume } = usePause(campaign)
  const isSending = campaign.status === 'SENDING'
  return (
    <section aria-label="Progress" className="space-y-3 rounded-lg border border-line bg-surface p-4">
      {isSending && campaign.pausedReason && (
        <Banner
          tone="warning"
          action={
            needsResume(campaign) && (
              <Button size="sm" onClick={resume}>
                Resume
              </Button>
            )
          }
        >
          {PAUSE_WORDS[campaign.pausedReason]}
          {needsResume(campaign) && ' No recipient gets it twice.'}
          {campaign.pausedReason === 'billing_limit' && (
            <>
              {' '}
              <PathLink to={`/app/p/${project.id}/settings/billing`} className="link">
                Raise the cap
              </PathLink>
            </>
          )}
        </Banner>
      )}
      <OutcomeSum campaign={campaign} />
      {isSending && !campaign.pausedReason && (
        <>
          <p className="flex flex-wrap items-center gap-x-2 text-muted text-ui" role="status">
            <Pace campaign={campaign} rate={rate} />
            <ChangeRate campaign={campaign} />
          </p>
          <Slowdowns campaign={campaign} />
        </>
      )}
      <Excluded campaign={campaign} />
    </section>
  )
}

function Pace({ campaign, rate }: { campaign: Campaign; rate: number | undefined }) {
  const left = timeLeft(waitingCount(campaign), rate)
  const limit = campaign.ratePerMinute
  const isHeldBack = limit !== null && rate !== undefined && rate >= limit * 0.8
  return (
    <span>
      {rate === undefined ? 'Starting' : `${formatCount(Math.round(rate))} a minute`}
      {left && `, ${left} left`}
      {isHeldBack && `; limited to ${formatCount(limit)} a minute`}
    </span>
  )
}

/** Reasons why it is paused or slow, as far as the server knows. */
function Slowdowns({ campaign }: { campaign: Campaign }) {
  if (campaign.slowedBy.length === 0) return null
  return (
    <ul className="space-y-1 text-muted text-ui" aria-label="What limits the rate">
      {campaign.slowedBy.map((reason) => (
        <li key={reason}>
          {SLOWDOWN_WORDS[reason]}
          {reason === 'recipient_domains' && (
            <>
              {' '}
              <RecipientsLink campaign={campaign} search={{ outcome: 'open', reason: 'throttled' }} className="link">
                See them
              </RecipientsLink>
            </>
          )}
        </li>
      ))}
    </ul>
  )
}

/** From the numbers that this page has seen. */
function useRate(campaign: Campaign): number | undefined {
  const done = campaign.totalRecipients - waitingCount(campaign)
  const [samples, setSamples] = useState<Sample[]>([])
  const now = Date.now()
  const last = samples.at(-1)
  // A new rendering of the same numbers, sooner than they are asked for, is no sample.
  if (campaign.status === 'SENDING' && (!last || last.done !== done || now - last.at > 1_900))
    setSamples(addSample(samples, { at: now, done }))
  return ratePerMinute(samples, { startedAt: campaign.startedAt, done }, now)
}

function ChangeRate({ campaign }: { campaign: Campaign }) {
  const api = useApi()
  const show = useShowCampaign()
  const [open, setOpen] = useState(false)
  const change = useMutation({
    mutationFn: async (rate: string) =>
      show(await api.campaigns.changeRate(campaign.id, { ratePerMinute: rate.trim() ? Number(rate) : null })),
    onSuccess: () => setOpen(false),
  })
  return (
    <Popover
      label="Rate"
      open={open}
      onOpenChange={setOpen}
      trigger={
        <button type="button" className="link">
          Change the rate
        </button>
      }
    >
      <div className="p-2">
        <Form error={change.error} onSubmit={(value) => change.mutate(value('ratePerMinute'))}>
          <Field name="ratePerMinute" label="Emails per minute, at most" hint="Empty: as fast as the installation sends.">
            <Input type="number" min={1} defaultValue={campaign.ratePerMinute ?? ''} />
          </Field>
          <Button type="submit" size="sm" variant="primary" className="w-full" busy={change.isPending}>
            Apply
          </Button>
        </Form>
      </div>
    </Popover>
  )
}

/** Contacts that matched and might not get it are outside of the sum of recipients. */
function Excluded({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const { unsubscribed, suppressed, invalid } = campaign.excludedCounts
  const parts = [
    ['unsubscribed', unsubscribed],
    ['suppressed', suppressed],
    ['invalid', invalid],
  ] as const
  const total = unsubscribed + suppressed + invalid
  if (total === 0) return null
  const to = '/app/p/$projectId/campaigns/$campaignId/excluded' as const
  const params = { projectId: project.id, campaignId: campaign.id }
  const link = 'rounded-sm underline decoration-line underline-offset-4 hover:text-accent hover:decoration-accent'
  return (
    <p className="flex flex-wrap gap-x-2 text-muted text-ui tabular-nums">
      <span>
        {formatCount(campaign.totalRecipients + total)} matched;{' '}
        <Link to={to} params={params} className={link}>
          {formatCount(total)} were left out
        </Link>
        :
      </span>
      {parts
        .filter(([, count]) => count > 0)
        .map(([reason, count]) => (
          <Link key={reason} to={to} params={params} search={{ reason }} className={link}>
            {formatCount(count)} {reason}
          </Link>
        ))}
    </p>
  )
}
