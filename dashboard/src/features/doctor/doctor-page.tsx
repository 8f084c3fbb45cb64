import type { Doctor } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Copy, RefreshCw, ShieldQuestion } from 'lucide-react'
import { meQuery } from '../../data/account.ts'
import { doctorQuery } from '../../data/installation.ts'
import { useProject } from '../../projects/current.ts'
import { Button, buttonClass } from '../../ui/form/button.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { Card } from '../../ui/page/card.tsx'
import { EmptyState } from '../../ui/page/empty-state.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Page } from '../../ui/page/page.tsx'
import { copy } from '../../ui/text/copy.ts'
import { CopyText } from '../../ui/text/copy-field.tsx'
import { Count, formatCount } from '../../ui/text/count.tsx'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { commandsIn, GROUP_WORDS, groupChecks, reportOf } from './report.ts'

/** The state of the installation, for its operators. */
export function DoctorPage() {
  const me = useQuery(meQuery).data
  if (me && !me.operator) return <NotAnOperator />
  return <OperatorPage />
}

function NotAnOperator() {
  const project = useProject()
  return (
    <Page title="Doctor">
      <EmptyState
        icon={ShieldQuestion}
        title="For operators of this installation"
        action={
          <Link to="/app/p/$projectId/settings/security" params={{ projectId: project.id }} className={buttonClass('primary')}>
            Security of this project
          </Link>
        }
      >
        The checks of the server are shown to operators only. How your own project stands is on its security page.
      </EmptyState>
    </Page>
  )
}

function OperatorPage() {
  const query = useQuery(doctorQuery)
  if (query.isLoadingError) return <ErrorState error={query.error} retry={query.refetch} />
  const report = query.data
  return (
    <Page
      title="Doctor"
      loading={!report}
      actions={
        report && (
          <>
            <Button size="sm" onClick={() => copy(reportOf(report), 'Report')}>
              <Copy aria-hidden="true" />
              Copy report
            </Button>
            <Button size="sm" variant="primary" busy={query.isFetching} onClick={() => query.refetch()}>
              <RefreshCw aria-hidden="true" />
              Run again
            </Button>
          </>
        )
      }
    >
      {report && <Report report={report} />}
    </Page>
  )
}

const VERDICTS: Record<Doctor['verdict'], { tone: 'good' | 'warning' | 'danger'; text: string }> = {
  ok: { tone: 'good', text: 'Everything works.' },
  warn: { tone: 'warning', text: 'It works, but some things need attention.' },
  FAIL: { tone: 'danger', text: 'Something does not work.' },
}

function Report({ report }: { report: Doctor }) {
  const { tone, text } = VERDICTS[report.verdict]
  return (
    <>
      <Banner tone={tone}>
        {text} Checked <Time value={report.checkedAt} />.
      </Banner>
      <Queues report={report} />
      {groupChecks(report.checks).map(({ group, checks }) => (
        <Card key={group} title={GROUP_WORDS[group]} flush>
          <ul className="divide-y divide-line text-ui">
            {checks.map(({ name, verdict, note }) => (
              <li key={`${name} ${note}`} className="grid grid-cols-1 gap-x-4 gap-y-1 px-4 py-2 sm:grid-cols-[6rem_9rem_minmax(0,1fr)]">
                <Status kind="check" status={verdict} />
                <span className="font-medium">{name}</span>
                <span className="min-w-0 wrap-break-word text-muted">
                  {note}
                  {commandsIn(note).map((command) => (
                    <span key={command} className="mt-1 block">
                      <CopyText value={command} label="Command" mono />
                    </span>
                  ))}
                </span>
              </li>
            ))}
          </ul>
        </Card>
      ))}
    </>
  )
}

const QUEUE_WORDS: Record<Doctor['queues'][number]['priority'], string> = {
  transactional: 'Transactional',
  bulk: 'Campaigns and workflows',
}

function Queues({ report: { queues, sentPerMinute } }: { report: Doctor }) {
  return (
    <Card
      title="Queue"
      description={`${formatCount(Math.round(sentPerMinute))} emails per minute in this hour and the one before, without those of the sandbox.`}
      flush
    >
      <ul className="divide-y divide-line text-ui">
        {queues.map(({ priority, waiting, paused, oldestAt }) => (
          <li key={priority} className="flex flex-wrap items-baseline justify-between gap-x-4 px-4 py-2">
            <span className="font-medium">{QUEUE_WORDS[priority]}</span>
            <span className="text-muted">
              <Count value={waiting} /> waiting
              {oldestAt && (
                <>
                  , the oldest <Time value={oldestAt} />
                </>
              )}
              {paused > 0 && (
                <>
                  , <Count value={paused} /> in paused campaigns
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}
