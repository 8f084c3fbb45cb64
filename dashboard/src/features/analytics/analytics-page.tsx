import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type Source, seriesQuery } from '../../data/analytics.ts'
import { type Period, periodOf, readDays } from '../../figures/period.ts'
import { PeriodPicker } from '../../figures/period-picker.tsx'
import { useProject } from '../../projects/current.ts'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { PageHeader } from '../../ui/page/page.tsx'
import { ViewTabs } from '../../ui/page/view-tabs.tsx'
import { Deliverability } from './deliverability.tsx'
import { Engagement } from './engagement.tsx'
import { OverviewTab } from './overview-tab.tsx'
import { People } from './people.tsx'

const TABS = { overview: 'Overview', engagement: 'Engagement', deliverability: 'Deliverability', people: 'People' }
type Tab = keyof typeof TABS
const SOURCES: Record<'' | Source, string> = {
  '': 'All emails',
  TRANSACTIONAL: 'Transactional',
  CAMPAIGN: 'Campaigns',
  WORKFLOW: 'Workflows',
}

const ROUTE = '/app/p/$projectId/analytics'

export function AnalyticsPage() {
  const project = useProject()
  const search = useSearch({ from: ROUTE })
  const navigate = useNavigate()
  const tab = (Object.keys(TABS) as Tab[]).find((each) => each === search.tab) ?? 'overview'
  const source = (Object.keys(SOURCES) as ('' | Source)[]).find((each) => each === search.source) || undefined
  const period = periodOf(readDays(search.days), project.timezone, Date.now())
  const go = (patch: Record<string, string | undefined>) =>
    navigate({ to: ROUTE, params: { projectId: project.id }, search: { ...search, ...patch }, replace: true, resetScroll: false })
  return (
    <>
      <PageHeader title="Analytics" />
      <div className="max-w-[1440px] space-y-4 px-4 py-4 sm:px-6 lg:px-8">
        <div className="flex flex-wrap items-center gap-3">
          <PeriodPicker days={period.days} />
          {tab !== 'people' && (
            <select
              aria-label="Source"
              value={source ?? ''}
              onChange={(event) => go({ source: event.target.value || undefined })}
              className="h-8 rounded-md border border-edge bg-surface px-2 text-base sm:text-ui pointer-coarse:h-11"
            >
              {Object.entries(SOURCES).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          )}
          <span className="text-muted text-xs">
            {period.from} to {period.to}, days in {period.timezone}
          </span>
        </div>
        <ViewTabs label="Analytics" tabs={TABS} chosen={tab} onChoose={(next) => go({ tab: next === 'overview' ? undefined : next })}>
          <TabContent tab={tab} period={period} source={source} />
        </ViewTabs>
      </div>
    </>
  )
}

type TabProps = { tab: Tab; period: Period; source: Source | undefined }

function TabContent({ tab, period, source }: TabProps) {
  const project = useProject()
  const query = useQuery(seriesQuery(project.id, period, source))
  if (query.isLoadingError) return <ErrorState title="Could not load the figures" error={query.error} retry={query.refetch} />
  if (!query.data) {
    return (
      <p role="status" className="min-h-96 text-muted text-ui">
        Loading…
      </p>
    )
  }
  const props = { period, source, series: query.data }
  if (tab === 'engagement') return <Engagement {...props} />
  if (tab === 'deliverability') return <Deliverability {...props} />
  if (tab === 'people') return <People period={period} />
  return <OverviewTab {...props} />
}
