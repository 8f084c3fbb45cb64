import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { ContactLink } from '../../projects/contact-link.tsx'
import { useProject } from '../../projects/current.ts'
import { Card } from '../../ui/card.tsx'
import { Count } from '../../ui/count.tsx'
import { Page } from '../../ui/page.tsx'
import { Status } from '../../ui/status.tsx'
import { Time } from '../../ui/time.tsx'
import { Onboarding, useSteps } from './onboarding.tsx'
import { latestEmailsQuery, latestEventsQuery, setupStateQuery } from './queries.ts'

const LIVE_MS = 30_000

export function OverviewPage() {
  const { id } = useProject()
  const steps = useSteps()
  const emails = useQuery({ ...latestEmailsQuery(id), refetchInterval: LIVE_MS }).data
  const isNew = steps?.some(({ isDone }) => !isDone)
  return (
    <Page title="Overview" width="full" loading={!steps || !emails}>
      {steps && isNew && <Onboarding steps={steps} />}
      {emails && emails.total > 0 && <RecentFacts />}
    </Page>
  )
}

function RecentFacts() {
  const { id: projectId } = useProject()
  const contactCount = useQuery(setupStateQuery(projectId)).data?.contactCount
  const emails = useQuery(latestEmailsQuery(projectId)).data
  const events = useQuery({ ...latestEventsQuery(projectId), refetchInterval: LIVE_MS }).data
  return (
    <>
      <dl className="grid grid-cols-3 divide-x divide-line rounded-lg border border-line bg-surface">
        <Figure label="Contacts" to="contacts" value={contactCount} />
        <Figure label="Emails" to="emails" value={emails?.total} />
        <Figure label="Events" to="events" value={events?.total} />
      </dl>
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
        <Card title="Latest emails" flush>
          <ul className="divide-y divide-line text-ui">
            {emails?.data.map(({ id, to, subject, status, outcomeUnknownSince, createdAt }) => (
              <Row
                key={id}
                title={
                  <Link
                    to="/app/p/$projectId/emails/$emailId"
                    params={{ projectId, emailId: id }}
                    className="rounded-sm hover:text-accent hover:underline"
                    title={subject}
                  >
                    {subject}
                  </Link>
                }
                detail={to}
                time={createdAt}
              >
                <Status kind="email" status={outcomeUnknownSince ? 'UNKNOWN' : status} />
              </Row>
            ))}
          </ul>
        </Card>
        <Card title="Latest events" flush>
          <ul className="divide-y divide-line text-ui">
            {events?.data.map(({ id, name, contact, contactId, createdAt }) => (
              <Row key={id} title={name} detail={contactId ? <ContactLink contact={contact} /> : 'No contact'} time={createdAt} />
            ))}
          </ul>
        </Card>
      </div>
    </>
  )
}

/** Every figure opens its list. */
function Figure({ label, to, value }: { label: string; to: 'contacts' | 'emails' | 'events'; value: number | undefined }) {
  const { id: projectId } = useProject()
  return (
    <div className="relative min-w-0 px-4 py-3 hover:bg-sunken/70">
      <dt className="text-muted text-xs">{label}</dt>
      <dd className="truncate font-semibold text-figure">
        {value === undefined ? ' ' : <Count value={value} />}
        <Link to={`/app/p/$projectId/${to}`} params={{ projectId }} className="after:absolute after:inset-0" aria-label={`Open ${to}`} />
      </dd>
    </div>
  )
}

type RowProps = { title: ReactNode; detail: ReactNode; time: string; children?: ReactNode }

function Row({ title, detail, time, children }: RowProps) {
  return (
    <li className="flex min-h-10 items-center gap-3 px-4 py-1.5">
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{title}</p>
        <p className="truncate text-muted text-xs">{detail}</p>
      </div>
      {children && <span className="shrink-0 text-xs">{children}</span>}
      <span className="w-20 shrink-0 text-right text-muted text-xs">
        <Time value={time} />
      </span>
    </li>
  )
}
