import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { eventDetailsQuery, eventUsageQuery } from '../../data/events.ts'
import { useProject } from '../../projects/current.ts'
import { SparkLine } from '../../ui/chart/chart.tsx'
import { Count } from '../../ui/text/count.tsx'
import { Time } from '../../ui/text/time.tsx'

/** Figures of the event that is chosen. Nothing for a name that is not among the most frequent ones. */
export function ChosenEvent({ name }: { name: string }) {
  const project = useProject()
  const all = useQuery(eventDetailsQuery(project.id))
  const usage = useQuery(eventUsageQuery(project.id, name)).data
  const details = all.data?.find((each) => each.name === name)
  if (all.isPending) return <div className="h-18 border-line border-b bg-surface" />
  if (!details) return null
  const { days, people, count, lastSeenAt } = details
  const uses = usage ? [...usage.usedInSegments, ...usage.usedInCampaigns, ...usage.usedInWorkflows].map((use) => use.name) : []
  return (
    <dl
      aria-label={`Figures of ${name}`}
      className="flex min-h-18 flex-wrap items-center gap-x-8 gap-y-2 border-line border-b bg-surface px-4 py-3 text-ui sm:px-6 lg:px-8"
    >
      <Figure label="30 days">
        <span className="flex items-center gap-3">
          <Count value={days.reduce((sum, each) => sum + each, 0)} />
          <SparkLine values={days} />
        </span>
      </Figure>
      {people !== null && (
        <Figure label="People in 30 days">
          <Count value={people} />
        </Figure>
      )}
      <Figure label="All time">
        <Count value={count} />
      </Figure>
      {lastSeenAt && (
        <Figure label="Last seen">
          <Time value={lastSeenAt} />
        </Figure>
      )}
      <Figure label="Used in">{uses.length > 0 ? uses.join(', ') : 'Nothing'}</Figure>
    </dl>
  )
}

function Figure({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-muted text-xs">{label}</dt>
      <dd className="wrap-break-word font-medium">{children}</dd>
    </div>
  )
}
