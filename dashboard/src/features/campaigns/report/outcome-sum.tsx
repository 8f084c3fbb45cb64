import type { Campaign } from '@sterna/sdk'
import { Link } from '@tanstack/react-router'
import { waitingCount } from '../../../data/campaigns.ts'
import { useProject } from '../../../projects/current.ts'
import { formatCount } from '../../../ui/text/count.tsx'
import type { Outcome } from '../campaign/words.ts'

const PARTS: { outcome: Outcome; word: string; colour: string }[] = [
  { outcome: 'sent', word: 'sent', colour: 'bg-good' },
  { outcome: 'failed', word: 'failed', colour: 'bg-danger' },
  { outcome: 'skipped', word: 'skipped', colour: 'bg-edge' },
  { outcome: 'open', word: 'waiting', colour: 'bg-accent/30' },
]

const countsOf = (campaign: Campaign): Record<Outcome, number> => ({
  sent: campaign.sentCount,
  failed: campaign.failedCount,
  skipped: campaign.skippedCount,
  open: waitingCount(campaign),
})

/** One stacked bar: sent + failed + skipped + waiting = recipients. Every number opens its recipients. */
export function OutcomeSum({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const counts = countsOf(campaign)
  const total = Math.max(1, campaign.totalRecipients)
  const to = '/app/p/$projectId/campaigns/$campaignId/recipients' as const
  const params = { projectId: project.id, campaignId: campaign.id }
  const shown = PARTS.filter(({ outcome }) => outcome === 'sent' || counts[outcome] > 0)
  return (
    <div className="space-y-2">
      <div
        role="img"
        aria-label={`${shown.map(({ outcome, word }) => `${formatCount(counts[outcome])} ${word}`).join(', ')} of ${formatCount(campaign.totalRecipients)}`}
        className="flex h-2 gap-px overflow-hidden rounded-full bg-line"
      >
        {PARTS.map(({ outcome, colour }) => (
          <div
            key={outcome}
            className={`h-full transition-[width] duration-500 ${colour}`}
            style={{ width: `${(counts[outcome] / total) * 100}%` }}
          />
        ))}
      </div>
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-ui tabular-nums">
        {shown.map(({ outcome, word, colour }, index) => (
          <span key={outcome} className="inline-flex items-center gap-2">
            {index > 0 && <span className="text-muted">+</span>}
            <Link
              to={to}
              params={params}
              search={{ outcome }}
              activeProps={{}}
              activeOptions={{ exact: true }}
              className="inline-flex items-center gap-1.5 rounded-sm hover:text-accent hover:underline hover:underline-offset-4 aria-[current]:font-semibold"
            >
              <span className={`size-2 rounded-full ${colour}`} aria-hidden="true" />
              {formatCount(counts[outcome])} {word}
            </Link>
          </span>
        ))}
        <span className="text-muted">=</span>
        <Link
          to={to}
          params={params}
          search={{}}
          activeProps={{}}
          activeOptions={{ exact: true }}
          className="rounded-sm font-medium aria-[current]:font-semibold hover:text-accent hover:underline hover:underline-offset-4"
        >
          {formatCount(campaign.totalRecipients)} {campaign.totalRecipients === 1 ? 'recipient' : 'recipients'}
        </Link>
      </p>
    </div>
  )
}
