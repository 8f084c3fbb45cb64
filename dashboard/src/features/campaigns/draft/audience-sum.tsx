import type { CampaignPreflight } from '@sterna/sdk'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useProject } from '../../../projects/current.ts'
import { formatCount } from '../../../ui/text/count.tsx'

type Audience = CampaignPreflight['audience']

const REASONS = [
  ['unsubscribed', 'unsubscribed'],
  ['suppressed', 'suppressed'],
  ['invalid', 'invalid'],
] as const

/** The sum: matches − each reason = will get it. Every number opens its contacts. */
export function AudienceSum({ campaignId, audience }: { campaignId: string; audience: Audience }) {
  const { matches, recipients, estimated: about } = audience
  return (
    <p className="flex flex-wrap items-baseline gap-x-2 gap-y-1 text-ui tabular-nums">
      <PeopleLink campaignId={campaignId}>{formatCount(matches, { about })} match</PeopleLink>
      {REASONS.map(([part, word]) =>
        audience[part] > 0 ? (
          <span key={part} className="inline-flex gap-2">
            <span className="text-muted">−</span>
            <PeopleLink campaignId={campaignId} part={part}>
              {formatCount(audience[part], { about })} {word}
            </PeopleLink>
          </span>
        ) : null,
      )}
      <span className="text-muted">=</span>
      <PeopleLink campaignId={campaignId} part="recipients" strong>
        {formatCount(recipients, { about })} will get it
      </PeopleLink>
    </p>
  )
}

type PeopleLinkProps = { campaignId: string; part?: string; strong?: boolean; children: ReactNode }

function PeopleLink({ campaignId, part, strong = false, children }: PeopleLinkProps) {
  const project = useProject()
  return (
    <Link
      to="/app/p/$projectId/campaigns/$campaignId/audience"
      params={{ projectId: project.id, campaignId }}
      search={part ? { part } : {}}
      activeProps={{}}
      activeOptions={{ exact: true }}
      className={`rounded-sm underline decoration-line underline-offset-4 hover:text-accent hover:decoration-accent aria-[current]:font-semibold ${strong ? 'font-semibold text-base' : ''}`}
    >
      {children}
    </Link>
  )
}
