import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { meQuery } from '../../data/account.ts'
import { newestActivityQuery, upcomingQuery } from '../../data/activity.ts'
import { growthQuery, seriesQuery, topCampaignsQuery, useReportsDelivery } from '../../data/analytics.ts'
import { limitsQuery } from '../../data/billing.ts'
import { campaignsUnderWayQuery } from '../../data/campaigns.ts'
import { domainsQuery } from '../../data/domains.ts'
import { hasEmailsQuery } from '../../data/emails.ts'
import { doctorQuery } from '../../data/installation.ts'
import { securityQuery } from '../../data/projects.ts'
import { ACTIVITY_WORDS, describeUpcoming, isByMachine, pathOf, subjectOf } from '../../figures/activity.ts'
import { ActivityKind } from '../../figures/activity-kind.tsx'
import { emailsPath } from '../../figures/emails-path.ts'
import { Figure, Figures } from '../../figures/figure.tsx'
import { type Period, periodOf, readDays, sumOf, timesOf } from '../../figures/period.ts'
import { PeriodPicker } from '../../figures/period-picker.tsx'
import { useProject } from '../../projects/current.ts'
import { Chart, SparkLine } from '../../ui/chart/chart.tsx'
import { buttonClass } from '../../ui/form/button.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { Card } from '../../ui/page/card.tsx'
import { Page } from '../../ui/page/page.tsx'
import { PathLink } from '../../ui/page/path-link.tsx'
import { Count, formatCount, formatPercent, Percent } from '../../ui/text/count.tsx'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { alertsOf, PAUSE_ALERTS } from './alerts.ts'
import { ConfirmAddress } from './confirm-address.tsx'
import { Onboarding, useSteps } from './onboarding.tsx'

const LIVE_MS = 30_000

/** Whether anything is wrong, and what to do next. */
export function OverviewPage() {
  const project = useProject()
  const { days } = useSearch({ from: '/app/p/$projectId/' })
  const steps = useSteps()
  const hasSent = useQuery(hasEmailsQuery(project.id)).data
  const isNew = steps?.some(({ isDone }) => !isDone)
  const period = periodOf(readDays(days), project.timezone, Date.now())
  return (
    <Page
      title="Overview"
      width="full"
      loading={!steps || hasSent === undefined}
      actions={
        hasSent && (
          <>
            <PeriodPicker days={period.days} />
            <PathLink to={`/app/p/${project.id}/campaigns`} className={`${buttonClass('primary', 'sm')} max-sm:hidden`}>
              New campaign
            </PathLink>
          </>
        )
      }
    >
      <ConfirmAddress />
      <Alerts />
      {steps && isNew && <Onboarding steps={steps} />}
      {hasSent && <Facts period={period} />}
    </Page>
  )
}

/** Nothing when all is well. */
function Alerts() {
  const project = useProject()
  const live = { refetchInterval: LIVE_MS }
  const domains = useQuery(domainsQuery(project.id)).data ?? []
  const security = useQuery({ ...securityQuery(project.id), ...live }).data
  const limits = useQuery(limitsQuery(project.id)).data
  const campaigns = useQuery({ ...campaignsUnderWayQuery(project.id), ...live }).data ?? []
  const paused = campaigns.flatMap(({ id, name, pausedReason }) => (pausedReason ? [{ id, name, reason: PAUSE_ALERTS[pausedReason] }] : []))
  const isOperator = useQuery(meQuery).data?.operator ?? false
  const doctor = useQuery({ ...doctorQuery, enabled: isOperator }).data?.verdict
  const alerts = alertsOf({ domains, security, limits, paused, doctor })
  if (alerts.length === 0) return null
  return (
    <div className="space-y-2">
      {alerts.map(({ id, tone, text, fix, path }) => (
        <Banner
          key={id}
          tone={tone}
          action={
            <PathLink to={`/app/p/${project.id}${path}`} className="rounded-sm font-medium underline underline-offset-4">
              {fix}
            </PathLink>
          }
        >
          {text}
        </Banner>
      ))}
    </div>
  )
}

function Facts({ period }: { period: Period }) {
  return (
    <>
      <Results period={period} />
      <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <NewestActivity />
        <div className="space-y-4">
          <Now />
          <TopCampaigns />
        </div>
      </div>
    </>
  )
}

const share = (part: number, whole: number) => (whole > 0 ? part / whole : 0)

/** Figures with their days and their change, and the days as a chart. */
function Results({ period }: { period: Period }) {
  const project = useProject()
  const series = useQuery({ ...seriesQuery(project.id, period), refetchInterval: LIVE_MS }).data
  const growth = useQuery({ ...growthQuery(project.id, period), refetchInterval: LIVE_MS }).data
  const isReported = useReportsDelivery(series?.current ?? [])
  // The size of the figures and the chart, so that nothing moves when they come.
  if (!series || !growth) return <div className="min-h-[26rem]" />
  const { current, before } = series
  const total = (points: typeof current, name: 'emails' | 'delivered' | 'clicks' | 'opens' | 'machineOpens') => sumOf(points, name)
  const sent = total(current, 'emails')
  const sentBefore = total(before, 'emails')
  const rate = (name: 'delivered' | 'clicks') => ({
    now: share(total(current, name), sent),
    before: share(total(before, name), sentBefore),
    format: formatPercent,
  })
  const emails = (fact: 'sent' | 'delivered' | 'clicked' | 'opened') => emailsPath(project.id, { fact, when: timesOf(period) })
  return (
    <>
      <Figures>
        <Figure label="Sent" value={formatCount(sent)} change={{ now: sent, before: sentBefore }} to={emails('sent')}>
          <SparkLine values={current.map((day) => day.emails)} />
        </Figure>
        {isReported && (
          <Figure
            label="Delivered"
            value={sent > 0 ? <Percent value={rate('delivered').now} /> : '–'}
            change={rate('delivered')}
            note={`${formatCount(total(current, 'delivered'))} of ${formatCount(sent)} sent`}
            to={emails('delivered')}
          >
            <SparkLine values={current.map((day) => share(day.delivered, day.emails))} />
          </Figure>
        )}
        <Figure
          label="Clicked by people"
          value={sent > 0 ? <Percent value={rate('clicks').now} /> : '–'}
          change={rate('clicks')}
          note={`${formatCount(total(current, 'clicks'))} of ${formatCount(sent)} sent`}
          to={emails('clicked')}
        >
          <SparkLine values={current.map((day) => share(day.clicks, day.emails))} />
        </Figure>
        <Figure
          label="Opened by people"
          value={formatCount(total(current, 'opens'))}
          change={{ now: total(current, 'opens'), before: total(before, 'opens') }}
          note={`and ${formatCount(total(current, 'machineOpens'))} by machines`}
          to={emails('opened')}
        />
        <Figure
          label="New subscribers"
          value={formatCount(sumOf(growth.current, 'newSubscribers'))}
          change={{ now: sumOf(growth.current, 'newSubscribers'), before: sumOf(growth.before, 'newSubscribers') }}
        >
          <SparkLine values={growth.current.map((day) => day.newSubscribers)} />
        </Figure>
      </Figures>
      <Card
        title="Emails sent"
        description={`By day, in ${period.timezone}`}
        actions={
          <PathLink to={`/app/p/${project.id}/analytics?days=${period.days}`} className="link text-ui">
            All figures
          </PathLink>
        }
      >
        <Chart
          label="Emails sent"
          dates={current.map(({ date }) => date)}
          series={[{ label: 'Sent', values: current.map((day) => day.emails), before: before.map((day) => day.emails) }]}
          isLastOpen
          height={180}
        />
      </Card>
    </>
  )
}

function NewestActivity() {
  const project = useProject()
  const newest = useQuery(newestActivityQuery(project.id)).data
  return (
    <Card
      title="Activity"
      actions={
        <PathLink to={`/app/p/${project.id}/activity`} className="link text-ui">
          All activity
        </PathLink>
      }
      flush
    >
      <ul className="min-h-96 divide-y divide-line text-ui">
        {newest?.map((activity) => {
          const path = pathOf(activity)
          const about = [subjectOf(activity), activity.contactEmail].filter(Boolean).join(' · ')
          return (
            <li key={activity.id} className="relative flex min-h-10 items-center gap-3 px-4 py-1.5">
              <ActivityKind type={activity.type} />
              <div className="min-w-0 flex-1">
                <p className="truncate font-medium">
                  {path ? (
                    <PathLink to={`/app/p/${project.id}${path}`} className="rounded-sm hover:text-accent hover:underline">
                      {ACTIVITY_WORDS[activity.type] ?? activity.type}
                    </PathLink>
                  ) : (
                    (ACTIVITY_WORDS[activity.type] ?? activity.type)
                  )}
                  {isByMachine(activity) && <span className="font-normal text-muted"> by a machine</span>}
                </p>
                <p className="truncate text-muted text-xs" title={about}>
                  {about}
                </p>
              </div>
              <span className="w-20 shrink-0 text-right text-muted text-xs">
                <Time value={activity.timestamp} />
              </span>
            </li>
          )
        })}
        {newest?.length === 0 && <li className="px-4 py-3 text-muted">No activity yet.</li>}
      </ul>
    </Card>
  )
}

/** Campaigns that are being sent, and activities that are due. */
function Now() {
  const project = useProject()
  const campaigns = useQuery(campaignsUnderWayQuery(project.id)).data?.filter(({ status }) => status === 'SENDING') ?? []
  const due = useQuery(upcomingQuery(project.id)).data ?? []
  return (
    <Card title="Now and next" flush>
      <ul className="divide-y divide-line text-ui">
        {campaigns.map(({ id, name, status, pausedReason }) => (
          <Line key={id} path={`/campaigns/${id}`} text={name}>
            <Status kind="campaign" status={pausedReason ? 'PAUSED' : status} />
          </Line>
        ))}
        {due.map((each) => (
          <Line key={each.id} path={pathOf(each)} text={describeUpcoming(each)}>
            <Time value={each.timestamp} />
          </Line>
        ))}
        {campaigns.length + due.length === 0 && <li className="px-4 py-3 text-muted">Nothing is being sent or scheduled.</li>}
      </ul>
    </Card>
  )
}

function Line({ path, text, children }: { path: string | undefined; text: string; children: ReactNode }) {
  const project = useProject()
  return (
    <li className="flex min-h-10 items-center gap-3 px-4 py-1.5">
      {path ? (
        <PathLink
          to={`/app/p/${project.id}${path}`}
          className="min-w-0 flex-1 wrap-break-word rounded-sm py-0.5 hover:text-accent hover:underline"
          title={text}
        >
          {text}
        </PathLink>
      ) : (
        <span className="min-w-0 flex-1 truncate">{text}</span>
      )}
      <span className="shrink-0 text-muted text-xs">{children}</span>
    </li>
  )
}

function TopCampaigns() {
  const project = useProject()
  const top = useQuery(topCampaignsQuery(project.id)).data
  if (!top?.length) return null
  return (
    <Card title="Most clicked campaigns" flush>
      <ul className="divide-y divide-line text-ui">
        {top.map(({ id, name, sentCount, clickRate }) => (
          <Line key={id} path={`/campaigns/${id}`} text={name}>
            <Percent value={clickRate / 100} /> of <Count value={sentCount} />
          </Line>
        ))}
      </ul>
    </Card>
  )
}
