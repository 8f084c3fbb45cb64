import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { api } from '../../client/api.ts'
import { securityQuery, storeSecurity } from '../../data/projects.ts'
import { useProject } from '../../projects/current.ts'
import { ConfirmDialog } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { Card } from '../../ui/page/card.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Page } from '../../ui/page/page.tsx'
import { Table } from '../../ui/table/table.tsx'
import { Count, formatPercent } from '../../ui/text/count.tsx'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { type RateRow, rateRows, type Security } from './rates.ts'

/** The project's reputation at mailbox providers, and its consequences. */
export function SecurityPage() {
  const project = useProject()
  const query = useQuery(securityQuery(project.id))
  if (query.isLoadingError) return <ErrorState error={query.error} retry={query.refetch} />
  return (
    <Page
      title="Security"
      loading={query.isPending}
      description="How many of your emails bounce or are marked as spam. Mailbox providers refuse senders with high rates."
    >
      {query.data && <SecurityView security={query.data} />}
    </Page>
  )
}

function SecurityView({ security }: { security: Security }) {
  return (
    <>
      <Verdict security={security} />
      <Table caption="Rates" rows={rateRows(security)} rowKey={({ id }) => id} columns={COLUMNS} />
      <p className="text-muted text-ui">
        Counts emails that were sent or refused, without tests and the sandbox. A window with fewer than {security.minimumEmails} emails is
        never judged.{' '}
        {security.disablesAutomatically
          ? 'A critical rate stops the project within a minute: it is read-only and sends nothing until the rate is acknowledged.'
          : 'This installation does not stop projects automatically.'}{' '}
        <EmailsLink status="BOUNCED">Emails that bounced</EmailsLink>,{' '}
        <EmailsLink status="COMPLAINED">emails that were marked as spam</EmailsLink>.
      </p>
      <Acknowledgement security={security} />
      <Suspensions suspensions={security.suspensions} />
    </>
  )
}

/** Beside the rates, not from their numbers: those leave out tests and the sandbox, and what was before an acknowledgement. */
function EmailsLink({ status, children }: { status: string; children: ReactNode }) {
  const project = useProject()
  return (
    <Link to="/app/p/$projectId/emails" params={{ projectId: project.id }} search={{ status }} className="link">
      {children}
    </Link>
  )
}

function Verdict({ security: { status, isDisabled, disabledReason, suspensions } }: { security: Security }) {
  if (isDisabled) {
    const inherited = suspensions.find(({ until, isInherited }) => !until && isInherited)
    if (inherited) return <InheritedStop reason={inherited.reason} endsAt={inherited.endsAt} />
    return (
      <Banner tone="danger">
        This project is stopped{disabledReason === 'EMAIL_REPUTATION' ? ' because of its rates' : disabledReason && ` (${disabledReason})`}.
      </Banner>
    )
  }
  if (status.violations.length > 0) return <Banner tone="danger">{status.violations.join(' ')}</Banner>
  if (status.warnings.length > 0) return <Banner tone="warning">{status.warnings.join(' ')}</Banner>
  return <Banner tone="good">All rates are healthy.</Banner>
}

/** A project that was created while another one of its owner was stopped. */
function InheritedStop({ reason, endsAt }: Pick<Security['suspensions'][number], 'reason' | 'endsAt'>) {
  return (
    <Banner tone="danger">
      This project is stopped because another project of its owner was stopped ({(REASONS[reason] ?? reason).toLowerCase()}) before this one
      was created.{' '}
      {endsAt && (
        <>
          It can be used from <Time value={endsAt} /> on.{' '}
        </>
      )}
      Earlier only if the owner acknowledges the rates of that project, or if an operator of this installation lifts this.
    </Banner>
  )
}

const COLUMNS: { heading: string; cell: (row: RateRow) => ReactNode }[] = [
  {
    heading: 'Rate',
    cell: ({ what, window, judged }) => (
      <>
        <span className="font-medium">{what}</span> <span className="text-muted">· {window.toLowerCase()}</span>
        <span className="block text-muted text-xs">
          {judged ? `Warning from ${formatPercent(judged.warning)}, critical from ${formatPercent(judged.critical)}` : 'Has no limits'}
        </span>
      </>
    ),
  },
  { heading: 'Share', cell: ({ rate }) => <span className="tabular-nums">{formatPercent(rate)}</span> },
  {
    heading: 'Emails',
    cell: (row) => (
      <span className="whitespace-nowrap tabular-nums">
        <Count value={row.count} /> of <Count value={row.total} />
      </span>
    ),
  },
  {
    heading: 'Level',
    cell: ({ judged }) => (judged ? <Status kind="reputation" status={judged.level} /> : <span className="text-muted">–</span>),
  },
]

/** Once in 30 days an owner may restart the rates. */
function Acknowledgement({ security: { acknowledgement, isDisabled, status, suspensions } }: { security: Security }) {
  const project = useProject()
  const queries = useQueryClient()
  const acknowledge = useMutation({
    mutationFn: () => api.projects.acknowledgeSecurity(project.id),
    onSuccess: async (changed) => {
      await storeSecurity(queries, project.id, changed)
      toast('Rates count from now on')
    },
  })
  const isOwner = project.role === 'OWNER'
  const refusal = !isOwner
    ? 'Only the owner can do this.'
    : suspensions.some(({ until, isInherited }) => !until && isInherited)
      ? 'The rates of another project are the cause.'
      : acknowledgement.nextAt
        ? 'Already done in the last 30 days. An operator of this installation can do it again.'
        : undefined
  return (
    <Card
      title={isDisabled ? 'Send again' : 'Restart the rates'}
      description="When you have removed the cause: the rates count from now on, and a project that was stopped by them sends again. Once in 30 days."
      actions={
        <ConfirmDialog
          title="Restart the rates?"
          description="Do this once the cause is gone, such as a bought list. If the rates rise again, the project is stopped again, and then only an operator of this installation can start it."
          action="Restart the rates"
          onConfirm={() => acknowledge.mutateAsync()}
        >
          {(open) => (
            <Button disabled={refusal !== undefined} title={refusal} onClick={open}>
              Acknowledge…
            </Button>
          )}
        </ConfirmDialog>
      }
    >
      <p className="text-muted text-ui">
        {acknowledgement.at ? (
          <>
            Last done <Time value={acknowledgement.at} />
            {acknowledgement.by && ` by ${acknowledgement.by}`}.{' '}
          </>
        ) : (
          'Never done. '
        )}
        {acknowledgement.nextAt && (
          <>
            Possible again <Time value={acknowledgement.nextAt} />.{' '}
          </>
        )}
        {refusal ?? (status.isHealthy ? 'There is nothing to acknowledge now.' : '')}
      </p>
    </Card>
  )
}

function Suspensions({ suspensions }: Pick<Security, 'suspensions'>) {
  if (suspensions.length === 0) return <p className="text-muted text-ui">This project was never stopped.</p>
  return (
    <Card title="When it was stopped" flush>
      <ul className="divide-y divide-line text-ui">
        {suspensions.map(({ at, reason, until, liftedBy, isInherited }) => (
          <li key={at} className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1 px-4 py-2">
            <span className="min-w-0">
              {REASONS[reason] ?? reason}
              {isInherited && ', in another project of the owner'}
            </span>
            <span className="text-muted text-xs">
              <Time value={at} />
              {until ? (
                <>
                  {' '}
                  until <Time value={until} />
                  {liftedBy && `, lifted by ${liftedBy}`}
                </>
              ) : (
                ', still stopped'
              )}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

const REASONS: Record<string, string> = { EMAIL_REPUTATION: 'Too many bounces or complaints' }
