import type { Campaign } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useProject } from '../../projects/current.ts'
import { buttonClass } from '../../ui/button.tsx'
import { CopyText } from '../../ui/copy-field.tsx'
import { ErrorState } from '../../ui/error-state.tsx'
import { Fact, Facts } from '../../ui/peek-panel.tsx'
import { Status } from '../../ui/status.tsx'
import { Time } from '../../ui/time.tsx'
import { CampaignContent } from './campaign-content.tsx'
import { audienceName, dateOf } from './campaigns-query.ts'
import { OutcomeSum } from './outcome-sum.tsx'
import { campaignQuery } from './queries.ts'
import { shownStatus } from './words.ts'

/** A look at a campaign beside the list. */
export function CampaignPeek({ id, campaign: known }: { id: string; campaign: Campaign | undefined }) {
  const project = useProject()
  const query = useQuery({ ...campaignQuery(project.id, id), ...(known && { initialData: known }) })
  if (query.isLoadingError) return <ErrorState title="Could not load this campaign" error={query.error} retry={query.refetch} />
  if (!query.data) return null
  const campaign = query.data
  const { word, at } = dateOf(campaign)
  return (
    <div className="space-y-4">
      <Link
        to="/app/p/$projectId/campaigns/$campaignId"
        params={{ projectId: project.id, campaignId: id }}
        className={buttonClass('secondary', 'sm')}
      >
        Open campaign
      </Link>
      <Facts>
        <Fact label="Status">
          <Status kind="campaign" status={shownStatus(campaign)} />
        </Fact>
        <Fact label="Subject">{campaign.subject}</Fact>
        {campaign.previewText && <Fact label="Preview text">{campaign.previewText}</Fact>}
        <Fact label="Audience">{audienceName(campaign)}</Fact>
        <Fact label={word}>
          <Time value={at} />
        </Fact>
        <Fact label="Id">
          <CopyText value={campaign.id} label="Id" mono />
        </Fact>
      </Facts>
      {campaign.startedAt && <OutcomeSum campaign={campaign} />}
      <CampaignContent campaign={campaign} />
    </div>
  )
}
