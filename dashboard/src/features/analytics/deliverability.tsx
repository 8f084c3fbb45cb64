import { useQuery } from '@tanstack/react-query'
import { deliveryTimesQuery, recipientDomainsQuery, type Source } from '../../data/analytics.ts'
import { securityQuery } from '../../data/projects.ts'
import { emailsPath } from '../../figures/emails-path.ts'
import { Figure, Figures } from '../../figures/figure.tsx'
import { type Period, sumOf, timesOf } from '../../figures/period.ts'
import { useProject } from '../../projects/current.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { Table } from '../../ui/table/table.tsx'
import { Count, formatCount, formatPercent } from '../../ui/text/count.tsx'
import { EmailsLink } from './emails-link.tsx'
import type { DaySeries } from './overview-tab.tsx'
import { Panel } from './panel.tsx'
import { adviceOf, dailyShares, describeSeconds, type Rate, shareOf, showPercentage } from './rates.ts'

type DeliverabilityProps = { period: Period; source: Source | undefined; series: DaySeries }

/** Whether emails arrive: bounces and complaints with the limits that stop a project, receivers, and how long it takes. */
export function Deliverability({ period, source, series: { before, current } }: DeliverabilityProps) {
  const project = useProject()
  const security = useQuery(securityQuery(project.id)).data
  const times = useQuery(deliveryTimesQuery(project.id, period, source)).data
  const rate = (name: Rate) => ({
    now: shareOf(current, name),
    before: shareOf(before, name),
    format: (share: number) => formatPercent(share),
  })
  const path = (fact: 'bounced' | 'complained') => emailsPath(project.id, { fact, when: timesOf(period), source })
  return (
    <div className="space-y-4">
      {security &&
        adviceOf(current, security.thresholds).map((advice) => (
          <Banner key={advice} tone="warning">
            {advice}
          </Banner>
        ))}
      <Figures>
        <Figure
          label="Bounced"
          value={formatPercent(shareOf(current, 'bounces'))}
          note={`${formatCount(sumOf(current, 'bounces'))} of all sent or refused`}
          change={rate('bounces')}
          to={path('bounced')}
        />
        <Figure
          label="Complained"
          value={formatPercent(shareOf(current, 'complaints'))}
          note={`${formatCount(sumOf(current, 'complaints'))} of ${formatCount(sumOf(current, 'emails'))} sent`}
          change={rate('complaints')}
          to={path('complained')}
        />
        <Figure
          label="Median delivery"
          value={times?.p50Seconds == null ? '–' : describeSeconds(times.p50Seconds)}
          note="from acceptance to delivery"
        />
        <Figure
          label="95% delivered within"
          value={times?.p95Seconds == null ? '–' : describeSeconds(times.p95Seconds)}
          note={`of ${formatCount(times?.count ?? 0)} that were reported`}
        />
      </Figures>
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
        <RatePanel title="Bounces" name="bounces" series={{ before, current }} limits={security?.thresholds.bounce7Day} />
        <RatePanel title="Complaints" name="complaints" series={{ before, current }} limits={security?.thresholds.complaint7Day} />
      </div>
      <Domains period={period} />
    </div>
  )
}

type RatePanelProps = { title: string; name: Rate; series: DaySeries; limits: { warning: number; critical: number } | undefined }

function RatePanel({ title, name, series: { before, current }, limits }: RatePanelProps) {
  const shares = dailyShares(current, name)
  return (
    <Panel
      title={title}
      description="Share of each day, with the limits of seven days."
      csv={{ headings: ['day', `${title.toLowerCase()} rate`], rows: current.map(({ date }, index) => [date, shares[index]!]) }}
      empty={sumOf(current, 'emails') + sumOf(current, 'bounces') === 0 ? 'Nothing was sent in this period.' : undefined}
    >
      <Chart
        label={title}
        dates={current.map(({ date }) => date)}
        series={[{ label: title, values: shares, before: dailyShares(before, name) }]}
        format={(share) => formatPercent(share)}
        isLastOpen
        {...(limits && {
          thresholds: [
            { value: limits.warning, label: `Warning at ${formatPercent(limits.warning)}`, tone: 'warning' as const },
            { value: limits.critical, label: `Sending stops at ${formatPercent(limits.critical)}`, tone: 'danger' as const },
          ],
        })}
      />
    </Panel>
  )
}

function Domains({ period }: { period: Period }) {
  const project = useProject()
  const domains = useQuery(recipientDomainsQuery(project.id, period)).data
  const when = `${period.from}..${period.to}`
  return (
    <Panel
      title="Receivers"
      description="By the domain of the recipient, on UTC days. The largest come first, all others together last."
      csv={{
        headings: ['domain', 'sent', 'delivered', 'bounced', 'complained', 'opened by people', 'opened by machines', 'clicked by people'],
        rows:
          domains?.map((each) => [
            each.domain,
            each.emails,
            each.delivered,
            each.bounces,
            each.complaints,
            each.opens,
            each.machineOpens,
            each.clicks,
          ]) ?? [],
      }}
      empty={domains?.length === 0 ? 'Nothing was sent in this period.' : undefined}
    >
      {domains && (
        <Table
          caption="Receivers"
          rows={domains}
          rowKey={({ domain, isOther }) => `${domain} ${isOther}`}
          columns={[
            {
              heading: 'Domain',
              cell: ({ domain, isOther }) =>
                isOther ? <span className="text-muted">All others</span> : <span className="font-medium">{domain}</span>,
            },
            {
              heading: 'Sent',
              cell: ({ domain, isOther, emails }) =>
                isOther ? <Count value={emails} /> : <EmailsLink value={emails} of={domain} filter={{ when, domain }} />,
            },
            { heading: 'Delivered', cell: ({ deliveryRate }) => showPercentage(deliveryRate) },
            { heading: 'Bounced', cell: ({ bounceRate }) => showPercentage(bounceRate) },
            { heading: 'Complained', cell: ({ complaintRate }) => showPercentage(complaintRate) },
            { heading: 'Clicked', cell: ({ clickRate }) => showPercentage(clickRate) },
          ]}
        />
      )}
    </Panel>
  )
}
