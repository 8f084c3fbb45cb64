import type { CampaignListItem } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { campaignQuery } from '../../data/campaigns.ts'
import { useProject } from '../../projects/current.ts'
import { RecordPeek } from '../../projects/record-peek.tsx'
import { Fact, Facts } from '../../ui/dialog/peek-panel.tsx'
import { CopyText } from '../../ui/text/copy-field.tsx'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { audienceName, dateOf, shownCampaignStatus } from './campaign/words.ts'
import { CampaignContent } from './report/campaign-content.tsx'
import { OutcomeSum } from './report/outcome-sum.tsx'

/** A look at a campaign beside the list. */
export function CampaignPeek({ id, campaign: known }: { id: string; campaign: CampaignListItem | undefined }) {
  const project = useProject()
  const query = useQuery({ ...campaignQuery(project.id, id), ...(known && { placeholderData: { ...known, design: null } }) })
  return (
    <RecordPeek noun="campaign" path={`/campaigns/${id}`} query={query}>
      {(campaign) => (
        <>
          <Facts>
            <Fact label="Status">
              <Status kind="campaign" status={shownCampaignStatus(campaign)} />
            </Fact>
            <Fact label="Subject">{campaign.subject}</Fact>
            {campaign.previewText && <Fact label="Preview text">{campaign.previewText}</Fact>}
            <Fact label="Audience">{audienceName(campaign)}</Fact>
            <Fact label={dateOf(campaign).word}>
              <Time value={dateOf(campaign).at} />
            </Fact>
            <Fact label="Id">
              <CopyText value={campaign.id} label="Id" mono />
            </Fact>
          </Facts>
          {campaign.startedAt && <OutcomeSum campaign={campaign} />}
          <CampaignContent campaign={campaign} />
        </>
      )}
    </RecordPeek>
  )
}
