import type { Campaign, CampaignRecipient } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { UserRoundCheck } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { reasonsQuery } from '../../../data/campaigns.ts'
import type { Filter } from '../../../list/filters.ts'
import { ListPage } from '../../../list/list-page.tsx'
import { useList } from '../../../list/use-list.ts'
import { NamedAddress } from '../../../people/named-address.tsx'
import { useProject } from '../../../projects/current.ts'
import { FirstRun } from '../../../ui/page/first-run.tsx'
import type { Column } from '../../../ui/table/data-table.tsx'
import { formatCount } from '../../../ui/text/count.tsx'
import { curl } from '../../../ui/text/curl.ts'
import { Status } from '../../../ui/text/status.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { CampaignLink } from '../campaign/campaign-link.tsx'
import { CampaignRecord } from '../campaign/campaign-record.tsx'
import { OUTCOME_WORDS, REASON_WORDS, RECIPIENT_ACTIVITY_WORDS } from '../campaign/words.ts'
import { ExportRecipients } from '../recipients/export-recipients.tsx'
import { recipientFilters, recipientsQuery } from '../recipients/recipients-query.ts'
import { OutcomeSum } from './outcome-sum.tsx'
import { ReportActions, ReportTabs } from './report-header.tsx'

const NOUN = { one: 'recipient', many: 'recipients' }
const EXACT_UP_TO = 10_000

const FILTERS: Filter[] = [
  { name: 'outcome', label: 'Outcome', kind: 'choice', options: OUTCOME_WORDS },
  { name: 'reason', label: 'Reason', kind: 'choice', options: REASON_WORDS },
  { name: 'activity', label: 'What happened', kind: 'choice', options: RECIPIENT_ACTIVITY_WORDS },
  { name: 'link', label: 'Clicked link', kind: 'text', hint: 'https://…' },
]

const rowId = ({ id }: CampaignRecipient) => id

export function RecipientsPage() {
  const { campaignId } = useParams({ from: '/app/p/$projectId/campaigns/$campaignId/recipients' })
  return <CampaignRecord id={campaignId}>{(campaign) => <Ledger campaign={campaign} />}</CampaignRecord>
}

/** The ledger: each recipient with its outcome and the reason. The sum on top always balances. */
function Ledger({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const list = useList<CampaignRecipient>({
    name: 'campaign-recipients',
    scope: campaign.id,
    filters: FILTERS,
    load: (api, request) => api.campaigns.recipients(campaign.id, recipientsQuery(request)),
    rowId,
    isEstimate: (total, { q, filters }) =>
      total >= EXACT_UP_TO && (q !== undefined || Object.keys(filters).some((name) => name !== 'outcome')),
  })
  useFollow(campaign, list.retry)
  const filter = recipientFilters(list.request)
  return (
    <ListPage
      title="Recipients"
      parent={<CampaignLink campaign={campaign} />}
      noun={NOUN}
      list={list}
      columns={COLUMNS}
      rowLabel={({ email }) => email}
      rowPath={({ id }) => `/app/p/${project.id}/emails/${id}`}
      searchHint="Search by address"
      byTime={false}
      actions={
        <>
          <ExportRecipients campaign={campaign} list="recipients" filter={filter} total={list.total} />
          <ReportActions campaign={campaign} shown={list.isFiltered ? { filter, total: list.total } : undefined} />
        </>
      }
      above={
        <>
          <ReportTabs campaign={campaign} />
          <div className="max-w-[1440px] space-y-2 px-4 pt-4 sm:px-6 lg:px-8">
            <OutcomeSum campaign={campaign} />
            <Reasons campaign={campaign} />
          </div>
        </>
      }
      call={curl('GET', `/campaigns/${campaign.id}/recipients?limit=${list.request.limit}`)}
      firstRun={
        <FirstRun icon={UserRoundCheck} title="No recipients yet">
          Recipients are fixed the moment you send.
        </FirstRun>
      }
    />
  )
}

/** Reads the rows on screen again when the numbers of a running campaign change. Rows keep their places: the order is that of the contacts. */
function useFollow({ sentCount, failedCount, skippedCount }: Campaign, refresh: () => unknown) {
  const seen = `${sentCount} ${failedCount} ${skippedCount}`
  const last = useRef(seen)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new function on every render must not refresh again
  useEffect(() => {
    if (last.current === seen) return
    last.current = seen
    refresh()
  }, [seen])
}

/** Failed and skipped recipients by reason. Each reason opens its recipients. */
function Reasons({ campaign }: { campaign: Campaign }) {
  const project = useProject()
  const reasons = useQuery(reasonsQuery(project.id, campaign)).data?.filter(({ outcome }) => outcome !== 'open')
  if (!reasons?.length) return null
  return (
    <ul className="flex flex-wrap gap-1.5" aria-label="Reasons">
      {reasons.map(({ outcome, reason, recipients }) => (
        <li key={`${outcome} ${reason}`}>
          <Link
            to="/app/p/$projectId/campaigns/$campaignId/recipients"
            params={{ projectId: project.id, campaignId: campaign.id }}
            search={{ outcome, ...(reason && { reason }) }}
            activeProps={{}}
            activeOptions={{ exact: true }}
            className="inline-flex rounded-md border border-line px-2 py-0.5 text-xs tabular-nums hover:border-accent hover:text-accent aria-[current]:border-accent aria-[current]:bg-accent-soft"
          >
            {OUTCOME_WORDS[outcome]}: {reason ? REASON_WORDS[reason] : 'No reason'} {formatCount(recipients)}
          </Link>
        </li>
      ))}
    </ul>
  )
}

const COLUMNS: Column<CampaignRecipient>[] = [
  { id: 'email', heading: 'Recipient', cell: (row) => <NamedAddress name={row.name} email={row.email} /> },
  { id: 'status', heading: 'Status', width: 'w-36', cell: ({ status }) => <Status kind="email" status={status} /> },
  {
    id: 'reason',
    heading: 'Reason',
    width: 'w-48',
    cell: ({ reason }) => (reason ? REASON_WORDS[reason] : <None />),
  },
  { id: 'attempts', heading: 'Attempts', width: 'w-24', from: 'lg', numeric: true, cell: ({ attempts }) => attempts },
  { id: 'queuedAt', heading: 'Queued', width: 'w-32', from: 'xl', cell: ({ queuedAt }) => <Time value={queuedAt} /> },
  { id: 'sentAt', heading: 'Sent', width: 'w-32', from: 'md', cell: ({ sentAt }) => (sentAt ? <Time value={sentAt} /> : <None />) },
  {
    id: 'deliveredAt',
    heading: 'Delivered',
    width: 'w-32',
    from: 'xl',
    cell: ({ deliveredAt }) => (deliveredAt ? <Time value={deliveredAt} /> : <None />),
  },
]

function None() {
  return <span className="text-muted max-sm:hidden">–</span>
}
