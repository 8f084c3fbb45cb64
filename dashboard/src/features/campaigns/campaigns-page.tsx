import type { CampaignListItem } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Megaphone } from 'lucide-react'
import { useEffect, useState } from 'react'
import { CAMPAIGN_LIVE_MS, isLive, waitingCount } from '../../data/campaigns.ts'
import { segmentNamesQuery } from '../../data/segments.ts'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { toCursorPage } from '../../list/numbered-pages.ts'
import { useList } from '../../list/use-list.ts'
import { useProject } from '../../projects/current.ts'
import { Progress } from '../../ui/chart/progress.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { Count, formatCount } from '../../ui/text/count.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { CampaignMenu, CancelCampaign, DeleteCampaign } from './campaign/campaign-menu.tsx'
import { type Activity, audienceName, dateOf, shownCampaignStatus } from './campaign/words.ts'
import { CampaignPeek } from './campaign-peek.tsx'
import { campaignsQuery, STATUS_TABS } from './campaigns-query.ts'
import { NewCampaign } from './draft/new-campaign.tsx'
import { RecipientsLink } from './recipients/recipients-link.tsx'

const NOUN = { one: 'campaign', many: 'campaigns' }
const rowId = ({ id }: CampaignListItem) => id

export function CampaignsPage() {
  const project = useProject()
  const [cancelling, setCancelling] = useState<CampaignListItem>()
  const [deleting, setDeleting] = useState<CampaignListItem>()
  const segments = useQuery(segmentNamesQuery(project.id)).data ?? {}
  const filters: Filter[] = [
    { name: 'status', label: 'Status', kind: 'choice', options: STATUS_TABS },
    { name: 'segment', label: 'Segment', kind: 'choice', options: segments },
    { name: 'date', label: 'When', kind: 'range' },
  ]
  const list = useList<CampaignListItem>({
    name: 'campaigns',
    filters,
    load: async (api, request) => toCursorPage(await api.campaigns.list(campaignsQuery(request))),
    rowId,
  })
  useRefresh(list.rows?.some(isLive) ?? false, list.retry)
  return (
    <>
      <ListPage
        title="Campaigns"
        noun={NOUN}
        list={list}
        columns={COLUMNS}
        rowLabel={({ name }) => name}
        rowPath={({ id }) => `/app/p/${project.id}/campaigns/${id}`}
        peek={(id, campaign) => <CampaignPeek key={id} id={id} campaign={campaign} />}
        rowMenu={(campaign) => (
          <CampaignMenu campaign={campaign} onCancel={() => setCancelling(campaign)} onDelete={() => setDeleting(campaign)} />
        )}
        searchHint="Search by name or subject"
        defaultSort={{ sort: 'createdAt', dir: 'desc' }}
        byTime={list.request.sort !== 'name'}
        actions={<NewCampaign />}
        above={<StatusTabs chosen={list.request.filters.status} />}
        call={curl('GET', `/campaigns?pageSize=${list.request.limit}`)}
        firstRun={
          <FirstRun
            icon={Megaphone}
            title="No campaigns yet"
            action={<NewCampaign label="Write your first campaign" />}
            call={{
              title: 'Or by the API',
              code: curl('POST', '/campaigns', {
                body: { name: 'May news', subject: 'What is new', body: '<p>…</p>', from: 'news@your-domain.com', audienceType: 'ALL' },
              }),
            }}
          >
            One email to many. Pick people, write, check, send; then see who got it, who did not, and why.
          </FirstRun>
        }
      />
      {cancelling && <CancelCampaign campaign={cancelling} onClose={() => setCancelling(undefined)} />}
      {deleting && <DeleteCampaign campaign={deleting} onClose={() => setDeleting(undefined)} />}
    </>
  )
}

/** Loads the page again and again while a campaign on it is being sent. Rows keep their places. */
function useRefresh(isOn: boolean, refresh: () => unknown) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new function on every render must not restart the timer
  useEffect(() => {
    if (!isOn) return
    const timer = setInterval(() => !document.hidden && refresh(), CAMPAIGN_LIVE_MS)
    return () => clearInterval(timer)
  }, [isOn])
}

const TAB =
  'flex h-9 items-center whitespace-nowrap border-transparent border-b-2 font-medium text-muted text-ui hover:text-ink aria-[current=page]:border-accent aria-[current=page]:text-ink pointer-coarse:h-11'

function StatusTabs({ chosen }: { chosen: string | undefined }) {
  const project = useProject()
  return (
    <nav aria-label="Status" className="border-line border-b bg-surface px-4 sm:px-6 lg:px-8">
      <ul className="-mb-px flex gap-4 overflow-x-auto">
        {[[undefined, 'All'] as const, ...Object.entries(STATUS_TABS)].map(([status, label]) => (
          <li key={label}>
            <Link
              to="/app/p/$projectId/campaigns"
              params={{ projectId: project.id }}
              search={({ cursor: _, peek: __, status: ___, ...others }) => ({ ...others, ...(status && { status }) })}
              activeProps={{}}
              activeOptions={{ exact: true }}
              aria-current={chosen === status ? 'page' : undefined}
              className={TAB}
            >
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

const COLUMNS: Column<CampaignListItem>[] = [
  {
    id: 'name',
    heading: 'Name',
    sort: 'name',
    cell: ({ name, subject }) => (
      <span title={`${name}\n${subject}`}>
        {name} <span className="font-normal text-muted">{subject}</span>
      </span>
    ),
  },
  { id: 'status', heading: 'Status', width: 'w-28', cell: (campaign) => <Status kind="campaign" status={shownCampaignStatus(campaign)} /> },
  { id: 'audience', heading: 'Audience', width: 'w-36', from: 'lg', cell: audienceName },
  { id: 'date', heading: 'When', sort: 'date', firstDir: 'desc', width: 'w-36', cell: (campaign) => <When campaign={campaign} /> },
  { id: 'sent', heading: 'Sent', width: 'w-32', from: 'md', numeric: true, cell: (campaign) => <SentOfTotal campaign={campaign} /> },
  {
    id: 'clicked',
    heading: 'Clicked',
    width: 'w-20',
    from: 'lg',
    numeric: true,
    cell: (campaign) => <Figure campaign={campaign} value={campaign.clickedCount} activity="clicked" />,
  },
  {
    id: 'delivered',
    heading: 'Delivered',
    width: 'w-24',
    from: 'xl',
    numeric: true,
    optional: true,
    cell: (campaign) => <Figure campaign={campaign} value={campaign.deliveredCount} activity="delivered" />,
  },
  {
    id: 'unsubscribed',
    heading: 'Unsubscribed',
    width: 'w-28',
    from: 'xl',
    numeric: true,
    cell: (campaign) => <Figure campaign={campaign} value={campaign.unsubscribedCount} activity="unsubscribed" />,
  },
  {
    id: 'failed',
    heading: 'Failed',
    width: 'w-20',
    from: 'md',
    numeric: true,
    cell: (campaign) =>
      campaign.failedCount > 0 ? (
        <RecipientsLink
          campaign={campaign}
          search={{ outcome: 'failed' }}
          label={`${formatCount(campaign.failedCount)} failed recipients`}
          className="text-danger"
        >
          <Count value={campaign.failedCount} />
        </RecipientsLink>
      ) : (
        <None when={campaign.status} />
      ),
  },
]

function None({ when }: { when: CampaignListItem['status'] }) {
  return when === 'DRAFT' || when === 'SCHEDULED' ? <span className="text-muted">–</span> : <Count value={0} />
}

function Figure({ campaign, value, activity }: { campaign: CampaignListItem; value: number; activity: Activity }) {
  if (value === 0) return <None when={campaign.status} />
  return (
    <RecipientsLink campaign={campaign} search={{ activity }} label={`${formatCount(value)} ${activity}`}>
      <Count value={value} />
    </RecipientsLink>
  )
}

function When({ campaign }: { campaign: CampaignListItem }) {
  const { word, at } = dateOf(campaign)
  return (
    <>
      <span className="text-muted">{word}</span> <Time value={at} />
    </>
  )
}

/** The bar is for work in progress: a part-full bar of a finished campaign would look unfinished. */
function SentOfTotal({ campaign }: { campaign: CampaignListItem }) {
  const { status, sentCount, totalRecipients, name } = campaign
  if (totalRecipients === 0) return <None when={status} />
  const done = ((totalRecipients - waitingCount(campaign)) / totalRecipients) * 100
  return (
    <span className="block">
      <RecipientsLink campaign={campaign} search={{ outcome: 'sent' }} label={`${formatCount(sentCount)} sent`}>
        <Count value={sentCount} />
      </RecipientsLink>{' '}
      <span className="text-muted">of {formatCount(totalRecipients)}</span>
      {status === 'SENDING' && <Progress value={done} label={`Progress of ${name}`} />}
    </span>
  )
}
