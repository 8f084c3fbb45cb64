import type { Campaign, CampaignPreflight } from '@sterna/sdk'
import { CircleCheck, CircleX, TriangleAlert } from 'lucide-react'
import { SendTest } from '../../../content/send-test.tsx'
import { useApi } from '../../../projects/current.ts'
import { ErrorState } from '../../../ui/page/error-state.tsx'
import { type CampaignCheck, checksOf } from './checks.ts'
import { Section } from './section.tsx'

const ICONS = {
  good: <CircleCheck className="text-good" aria-label="Fine" />,
  warning: <TriangleAlert className="text-warning" aria-label="Warning" />,
  wrong: <CircleX className="text-danger" aria-label="Must be changed" />,
}

type ChecksSectionProps = {
  campaign: Campaign
  preflight: CampaignPreflight | undefined
  error: Error | null
  retry: () => unknown
  isDirty: boolean
}

/** The server's checks before a campaign is sent. */
export function ChecksSection({ campaign, preflight, error, retry, isDirty }: ChecksSectionProps) {
  const api = useApi()
  const checks = preflight && checksOf(preflight, campaign.body)
  return (
    <Section title="Checks" state={stateOf(checks)} note={isDirty ? 'For the last saved version' : undefined}>
      {error && !preflight && <ErrorState title="Could not check this campaign" error={error} retry={retry} />}
      {!checks && !error && <p className="text-muted text-ui">The checks run once you have chosen who gets it.</p>}
      {checks && (
        <ul className="space-y-1.5">
          {checks.map(({ id, level, text }) => (
            <li key={id} className="flex items-start gap-2 text-ui [&>svg]:mt-0.5 [&>svg]:size-4 [&>svg]:shrink-0">
              {ICONS[level]}
              <span className="min-w-0 wrap-break-word">{text}</span>
            </li>
          ))}
        </ul>
      )}
      <SendTest send={({ email }) => api.campaigns.test(campaign.id, { email })} isDirty={isDirty} />
    </Section>
  )
}

function stateOf(checks: CampaignCheck[] | undefined) {
  if (!checks) return 'open'
  const has = (level: CampaignCheck['level']) => checks.some((check) => check.level === level)
  return has('wrong') ? 'wrong' : has('warning') ? 'warning' : 'done'
}
