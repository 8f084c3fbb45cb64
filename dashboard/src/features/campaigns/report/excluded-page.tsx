import type { Campaign, CampaignExcludedContact } from '@sterna/sdk'
import { useParams } from '@tanstack/react-router'
import { UserRoundX } from 'lucide-react'
import type { Filter } from '../../../list/filters.ts'
import { ListPage } from '../../../list/list-page.tsx'
import { useList } from '../../../list/use-list.ts'
import { NamedAddress } from '../../../people/named-address.tsx'
import { useProject } from '../../../projects/current.ts'
import { FirstRun } from '../../../ui/page/first-run.tsx'
import type { Column } from '../../../ui/table/data-table.tsx'
import { curl } from '../../../ui/text/curl.ts'
import { CampaignLink } from '../campaign/campaign-link.tsx'
import { CampaignRecord } from '../campaign/campaign-record.tsx'
import { EXCLUSION_WORDS } from '../campaign/words.ts'
import { ExportRecipients } from '../recipients/export-recipients.tsx'
import { excludedQuery } from '../recipients/recipients-query.ts'
import { ReportActions, ReportTabs } from './report-header.tsx'

const NOUN = { one: 'contact', many: 'contacts' }
const FILTERS: Filter[] = [{ name: 'reason', label: 'Reason', kind: 'choice', options: EXCLUSION_WORDS }]
const rowId = ({ email }: CampaignExcludedContact) => email

export function ExcludedPage() {
  const { campaignId } = useParams({ from: '/app/p/$projectId/campaigns/$campaignId/excluded' })
  return <CampaignRecord id={campaignId}>{(campaign) => <Excluded campaign={campaign} />}</CampaignRecord>
}

/** Contacts that matched the audience when the campaign started, and might not get the email. */
function Excluded({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const list = useList<CampaignExcludedContact>({
    name: 'campaign-excluded',
    scope: campaign.id,
    filters: FILTERS,
    load: (api, request) => api.campaigns.excluded(campaign.id, excludedQuery(request)),
    rowId,
  })
  const { reason } = excludedQuery(list.request)
  return (
    <ListPage
      title="Left out"
      parent={<CampaignLink campaign={campaign} />}
      noun={NOUN}
      list={list}
      columns={COLUMNS}
      rowLabel={({ email }) => email}
      rowPath={({ contactId, email }) => `/app/p/${project.id}/contacts${contactId ? `/${contactId}` : `?q=${encodeURIComponent(email)}`}`}
      byTime={false}
      actions={
        <>
          <ExportRecipients campaign={campaign} list="excluded" filter={reason ? { reason } : {}} total={list.total} />
          <ReportActions campaign={campaign} />
        </>
      }
      above={<ReportTabs campaign={campaign} />}
      call={curl('GET', `/campaigns/${campaign.id}/excluded?limit=${list.request.limit}`)}
      firstRun={
        <FirstRun icon={UserRoundX} title="No contact was left out">
          Every contact that matched was allowed to get the email. Unsubscribed, suppressed and invalid addresses would be listed here.
        </FirstRun>
      }
    />
  )
}

const COLUMNS: Column<CampaignExcludedContact>[] = [
  { id: 'email', heading: 'Contact', cell: (row) => <NamedAddress name={row.name} email={row.email} /> },
  { id: 'reason', heading: 'Reason', width: 'w-48', cell: ({ reason }) => EXCLUSION_WORDS[reason] },
]
