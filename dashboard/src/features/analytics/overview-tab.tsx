import { type DayFigures, type Source, useReportsDelivery } from '../../data/analytics.ts'
import { emailsPath } from '../../figures/emails-path.ts'
import { Figure, Figures } from '../../figures/figure.tsx'
import { type Period, sumOf, timesOf } from '../../figures/period.ts'
import { useProject } from '../../projects/current.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { formatCount, formatPercent } from '../../ui/text/count.tsx'
import { Panel } from './panel.tsx'
import { type Rate, shareOf } from './rates.ts'

export type DaySeries = { before: DayFigures[]; current: DayFigures[] }
type TabProps = { period: Period; source: Source | undefined; series: DaySeries }

const NOTHING = 'Nothing was sent in this period.'

/** All figures of the period, each with the period before. */
export function OverviewTab({ period, source, series: { before, current } }: TabProps) {
  const project = useProject()
  const dates = current.map(({ date }) => date)
  const sent = sumOf(current, 'emails')
  const isReported = useReportsDelivery(current)
  const rate = (name: Rate) => ({
    now: shareOf(current, name),
    before: shareOf(before, name),
    format: (share: number) => formatPercent(share),
  })
  const path = (fact: Parameters<typeof emailsPath>[1]['fact']) => emailsPath(project.id, { fact, when: timesOf(period), source })
  const machine = sumOf(current, 'machineOpens')
  const values = (name: keyof Omit<DayFigures, 'date'>) => ({
    values: current.map((point) => point[name]),
    before: before.map((point) => point[name]),
  })
  return (
    <div className="space-y-4">
      <Figures>
        <Figure label="Sent" value={formatCount(sent)} change={{ now: sent, before: sumOf(before, 'emails') }} to={path('sent')} />
        {isReported && (
          <Figure
            label="Delivered"
            value={formatPercent(shareOf(current, 'delivered'))}
            note={`${formatCount(sumOf(current, 'delivered'))} of ${formatCount(sent)} sent`}
            change={rate('delivered')}
            to={path('delivered')}
          />
        )}
        <Figure
          label="Opened by people"
          value={formatPercent(shareOf(current, 'opens'))}
          note={`${formatCount(sumOf(current, 'opens'))} of ${formatCount(sent)} sent; ${formatCount(machine)} more by machines`}
          change={rate('opens')}
          to={path('opened')}
        />
        <Figure
          label="Clicked by people"
          value={formatPercent(shareOf(current, 'clicks'))}
          note={`${formatCount(sumOf(current, 'clicks'))} of ${formatCount(sent)} sent`}
          change={rate('clicks')}
          to={path('clicked')}
        />
        <Figure
          label="Unsubscribed"
          value={formatCount(sumOf(current, 'unsubscribes'))}
          note="by the link in an email"
          change={{ now: sumOf(current, 'unsubscribes'), before: sumOf(before, 'unsubscribes') }}
          to={path('unsubscribed')}
        />
      </Figures>
      <Panel
        title="Emails sent"
        csv={{
          headings: ['day', 'sent', 'sent before'],
          rows: current.map((point, index) => [point.date, point.emails, before[index]?.emails ?? 0]),
        }}
        empty={sent === 0 && sumOf(before, 'emails') === 0 ? NOTHING : undefined}
      >
        <Chart label="Emails sent" dates={dates} series={[{ label: 'Sent', ...values('emails') }]} isLastOpen />
      </Panel>
      <Panel
        title="Opens and clicks"
        description="Emails that were opened or clicked, each counted once, on the day of its first. Machines are privacy proxies and scanners."
        csv={{
          headings: ['day', 'opened by people', 'clicked by people', 'opened by machines', 'clicked by machines'],
          rows: current.map(({ date, opens, clicks, machineOpens, machineClicks }) => [date, opens, clicks, machineOpens, machineClicks]),
        }}
        empty={sent === 0 && sumOf(current, 'opens') === 0 ? NOTHING : undefined}
      >
        <Chart
          label="Opens and clicks"
          dates={dates}
          isLastOpen
          series={[
            { label: 'Opened by people', values: values('opens').values },
            { label: 'Clicked by people', values: values('clicks').values },
            { label: 'Opened by machines', values: values('machineOpens').values },
          ]}
        />
      </Panel>
    </div>
  )
}
