import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type Board, leadersQuery, type Source, topEventsQuery, weekQuery } from '../../data/analytics.ts'
import type { Period } from '../../figures/period.ts'
import { useProject } from '../../projects/current.ts'
import { MeterList } from '../../ui/chart/meter-list.tsx'
import { Button } from '../../ui/form/button.tsx'
import { PathLink } from '../../ui/page/path-link.tsx'
import { Table } from '../../ui/table/table.tsx'
import { Count, formatChange } from '../../ui/text/count.tsx'
import { EmailsLink } from './emails-link.tsx'
import { Heat } from './heat.tsx'
import { Panel } from './panel.tsx'
import { showPercentage } from './rates.ts'

const BOARDS: Record<Board, { label: string; path: string }> = {
  campaign: { label: 'Campaigns', path: 'campaigns' },
  template: { label: 'Templates', path: 'templates' },
  workflow: { label: 'Workflows', path: 'workflows' },
}
/** Rates of fewer emails say little. */
const FEW_EMAILS = 50

/** Opens and clicks: the best campaigns, templates and workflows, the best hours, and events. */
export function Engagement({ period, source }: { period: Period; source: Source | undefined }) {
  return (
    <div className="space-y-4">
      <Leaders period={period} />
      <Hours period={period} source={source} />
      <TopEvents period={period} />
    </div>
  )
}

function Leaders({ period }: { period: Period }) {
  const project = useProject()
  const navigate = useNavigate()
  const search = useSearch({ from: '/app/p/$projectId/analytics' })
  const board = (Object.keys(BOARDS) as Board[]).find((each) => each === search.by) ?? 'campaign'
  const leaders = useQuery(leadersQuery(project.id, period, board)).data
  return (
    <Panel
      title="Most clicked"
      description={`Share of the sent emails in which a person clicked. Fewer than ${FEW_EMAILS} emails come last.`}
      actions={
        <span className="flex gap-1">
          {(Object.keys(BOARDS) as Board[]).map((each) => (
            <Button
              key={each}
              size="sm"
              aria-pressed={each === board}
              className="aria-pressed:border-accent aria-pressed:bg-accent-soft"
              onClick={() =>
                navigate({
                  to: '/app/p/$projectId/analytics',
                  params: { projectId: project.id },
                  search: { ...search, by: each },
                  replace: true,
                  resetScroll: false,
                })
              }
            >
              {BOARDS[each].label}
            </Button>
          ))}
        </span>
      }
      csv={{
        headings: ['name', 'id', 'sent', 'delivered', 'opened by people', 'clicked by people'],
        rows: leaders?.map(({ name, id, emails, delivered, opens, clicks }) => [name, id, emails, delivered, opens, clicks]) ?? [],
      }}
      empty={leaders?.length === 0 ? 'Nothing was sent in this period.' : undefined}
    >
      {leaders && (
        <Table
          caption={`${BOARDS[board].label} by clicks`}
          rows={leaders}
          rowKey={({ id }) => id}
          columns={[
            {
              heading: 'Name',
              cell: ({ id, name }) =>
                name === null ? (
                  <span className="text-muted">Deleted</span>
                ) : (
                  <PathLink
                    to={`/app/p/${project.id}/${BOARDS[board].path}/${id}`}
                    className="block truncate rounded-sm font-medium hover:text-accent hover:underline"
                    title={name}
                  >
                    {name}
                  </PathLink>
                ),
            },
            {
              heading: 'Sent',
              cell: ({ id, name, emails }) => (
                <>
                  {/* Emails cannot be listed by workflow. */}
                  {board === 'workflow' ? (
                    <Count value={emails} />
                  ) : (
                    <EmailsLink value={emails} of={name ?? 'deleted'} filter={{ when: `${period.from}..${period.to}`, [board]: id }} />
                  )}
                  {emails < FEW_EMAILS && <span className="text-muted text-xs"> few</span>}
                </>
              ),
            },
            { heading: 'Opened', cell: ({ openRate }) => showPercentage(openRate) },
            { heading: 'Clicked', cell: ({ clickRate }) => showPercentage(clickRate) },
          ]}
        />
      )}
    </Panel>
  )
}

function Hours({ period, source }: { period: Period; source: Source | undefined }) {
  const project = useProject()
  const cells = useQuery(weekQuery(project.id, period, source)).data
  const hasClicks = cells?.some(({ clicks }) => clicks > 0)
  return (
    <Panel
      title="When people click"
      description={`First clicks of people by weekday and hour, in ${period.timezone}.`}
      csv={{
        headings: ['weekday', 'hour', 'sent', 'opened by people', 'clicked by people'],
        rows: cells?.map(({ weekday, hour, emails, opens, clicks }) => [weekday, hour, emails, opens, clicks]) ?? [],
      }}
      empty={cells && !hasClicks ? 'No link was clicked in this period.' : undefined}
    >
      {cells && <Heat cells={cells.map(({ weekday, hour, clicks }) => ({ weekday, hour, value: clicks }))} unit="clicks" />}
    </Panel>
  )
}

function TopEvents({ period }: { period: Period }) {
  const project = useProject()
  const events = useQuery(topEventsQuery(project.id, period)).data
  return (
    <Panel
      title="Events"
      description="The most frequent events that your apps track, and their change against the previous period (UTC days)."
      csv={{
        headings: ['event', 'count', 'before'],
        rows: events?.map(({ name, count, previousCount }) => [name, count, previousCount]) ?? [],
      }}
      empty={events?.length === 0 ? 'No event was tracked in this period.' : undefined}
    >
      {events && (
        <MeterList
          unit="events"
          rows={events.map(({ name, count, previousCount, trend }) => ({
            id: name,
            name,
            value: count,
            label: (
              <Link
                to="/app/p/$projectId/events"
                params={{ projectId: project.id }}
                search={{ event: name }}
                className="rounded-sm hover:text-accent hover:underline"
              >
                {name}
              </Link>
            ),
            detail: (
              <span className="text-muted text-xs" title={`${previousCount} in the previous period`}>
                {trend === null ? 'new' : formatChange(trend / 100)}
              </span>
            ),
          }))}
        />
      )}
    </Panel>
  )
}
