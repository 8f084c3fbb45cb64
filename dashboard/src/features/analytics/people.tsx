import { useQuery } from '@tanstack/react-query'
import { contactSourcesQuery, growthQuery } from '../../data/analytics.ts'
import { Figure, Figures } from '../../figures/figure.tsx'
import { type Period, sumOf } from '../../figures/period.ts'
import { useProject } from '../../projects/current.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { MeterList } from '../../ui/chart/meter-list.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { formatCount } from '../../ui/text/count.tsx'
import { Panel } from './panel.tsx'

const SOURCE_WORDS: Record<string, string> = {
  'secret-key': 'API, secret key',
  'public-key': 'API, public key',
  dashboard: 'Dashboard',
  import: 'Import',
  bulk: 'Bulk action',
  page: 'Preference page',
  'one-click': 'One-click unsubscribe',
  workflow: 'Workflow',
  unknown: 'Before sources were recorded',
}

/** How the number of people changes, and where they come from. */
export function People({ period }: { period: Period }) {
  const project = useProject()
  const query = useQuery(growthQuery(project.id, period))
  const sources = useQuery(contactSourcesQuery(project.id, period)).data
  if (query.isLoadingError) return <ErrorState title="Could not load the figures" error={query.error} retry={query.refetch} />
  if (!query.data || !sources) return null
  const { current, before, total, subscribed } = query.data
  const change = (name: 'newContacts' | 'newSubscribers' | 'unsubscribed') => ({ now: sumOf(current, name), before: sumOf(before, name) })
  const created = `${period.from}..${period.to}`
  const contacts = (search: string) => `/app/p/${project.id}/contacts${search}`
  const isQuiet = current.every((day) => day.newContacts + day.newSubscribers + day.unsubscribed + day.deletedContacts === 0)
  return (
    <div className="space-y-4">
      <Figures>
        <Figure label="Contacts" value={formatCount(total)} note="now" to={contacts('')} />
        <Figure
          label="Subscribed"
          value={formatCount(subscribed)}
          note={`of ${formatCount(total)} now`}
          to={contacts('?subscribed=true')}
        />
        <Figure
          label="New contacts"
          value={formatCount(sumOf(current, 'newContacts'))}
          change={change('newContacts')}
          {...(sumOf(current, 'deletedContacts') === 0 && { to: contacts(`?created=${created}`) })}
        />
        <Figure label="New subscribers" value={formatCount(sumOf(current, 'newSubscribers'))} change={change('newSubscribers')} />
        <Figure label="Unsubscribed" value={formatCount(sumOf(current, 'unsubscribed'))} change={change('unsubscribed')} />
      </Figures>
      <Panel
        title="Growth"
        description="UTC days."
        csv={{
          headings: ['day', 'new contacts', 'new subscribers', 'unsubscribed', 'deleted'],
          rows: current.map((day) => [day.date, day.newContacts, day.newSubscribers, day.unsubscribed, day.deletedContacts]),
        }}
        empty={isQuiet ? 'No contact was added, subscribed or unsubscribed in this period.' : undefined}
      >
        <Chart
          label="Growth"
          dates={current.map(({ date }) => date)}
          isLastOpen
          series={[
            { label: 'New subscribers', values: current.map((day) => day.newSubscribers) },
            { label: 'Unsubscribed', values: current.map((day) => day.unsubscribed) },
          ]}
        />
      </Panel>
      <Panel
        title="Sources of new contacts"
        csv={{
          headings: ['source', 'new contacts', 'new subscribers', 'unsubscribed'],
          rows: sources.map((each) => [each.source, each.newContacts, each.newSubscribers, each.unsubscribed]),
        }}
        empty={sources.length === 0 ? 'No contact was added in this period.' : undefined}
      >
        <MeterList
          unit="new contacts"
          rows={sources.map(({ source, newContacts, unsubscribed }) => ({
            id: source,
            name: SOURCE_WORDS[source] ?? source,
            label: SOURCE_WORDS[source] ?? source,
            value: newContacts,
            detail: unsubscribed > 0 && <span className="text-muted text-xs">· {formatCount(unsubscribed)} unsubscribed</span>,
          }))}
        />
      </Panel>
    </div>
  )
}
