import type { Campaign, Result } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { UsersRound } from 'lucide-react'
import { preflightQuery } from '../../../data/campaigns.ts'
import type { Filter } from '../../../list/filters.ts'
import { ListPage } from '../../../list/list-page.tsx'
import { useList } from '../../../list/use-list.ts'
import { useProject } from '../../../projects/current.ts'
import { FirstRun } from '../../../ui/page/first-run.tsx'
import type { Column } from '../../../ui/table/data-table.tsx'
import { curl } from '../../../ui/text/curl.ts'
import { CampaignLink } from '../campaign/campaign-link.tsx'
import { CampaignRecord } from '../campaign/campaign-record.tsx'
import { EXCLUSION_WORDS } from '../campaign/words.ts'
import { AUDIENCE_PARTS, audienceQuery } from '../recipients/recipients-query.ts'
import { AudienceSum } from './audience-sum.tsx'

type Person = Result<'GET /campaigns/{id}/audience'>['data'][number]

const NOUN = { one: 'contact', many: 'contacts' }
const EXACT_UP_TO = 10_000
const FILTERS: Filter[] = [{ name: 'part', label: 'Part', kind: 'choice', options: AUDIENCE_PARTS }]
const rowId = ({ contactId }: Person) => contactId

export function AudiencePage() {
  const { campaignId } = useParams({ from: '/app/p/$projectId/campaigns/$campaignId/audience' })
  return <CampaignRecord id={campaignId}>{(campaign) => <Audience campaign={campaign} />}</CampaignRecord>
}

/** The people behind the sum, before it is sent. */
function Audience({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const preflight = useQuery(preflightQuery(project.id, campaign.id, campaign.updatedAt)).data
  const list = useList<Person>({
    name: 'campaign-audience',
    scope: `${campaign.id} ${campaign.updatedAt}`,
    filters: FILTERS,
    load: (api, request) => api.campaigns.audience(campaign.id, audienceQuery(request)),
    rowId,
    isEstimate: (total) => total >= EXACT_UP_TO,
  })
  return (
    <ListPage
      title="People"
      parent={<CampaignLink campaign={campaign} />}
      noun={NOUN}
      list={list}
      columns={COLUMNS}
      rowLabel={({ email }) => email}
      rowPath={({ contactId }) => `/app/p/${project.id}/contacts/${contactId}`}
      searchHint="Search by address"
      byTime={false}
      above={
        <div className="max-w-[1440px] border-line border-b bg-surface px-4 py-3 sm:px-6 lg:px-8">
          {preflight ? (
            <AudienceSum campaignId={campaign.id} audience={preflight.audience} />
          ) : (
            <p className="text-muted text-ui">Counting who gets it…</p>
          )}
        </div>
      }
      call={curl('GET', `/campaigns/${campaign.id}/audience?limit=${list.request.limit}`)}
      firstRun={
        <FirstRun icon={UsersRound} title="No contact matches">
          The audience of this campaign is empty now. Choose another segment, or add contacts.
        </FirstRun>
      }
    />
  )
}

const COLUMNS: Column<Person>[] = [
  { id: 'email', heading: 'Address', cell: ({ email }) => <span title={email}>{email}</span> },
  {
    id: 'reason',
    heading: 'Gets it',
    width: 'w-48',
    cell: ({ reason }) => (reason ? <span className="text-muted">No: {EXCLUSION_WORDS[reason].toLowerCase()}</span> : 'Yes'),
  },
]
