import type { Session } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api } from '../../client/api.ts'
import { invalidateSessions, sessionsQuery } from '../../data/account.ts'
import { signOut } from '../../session/sign-out.ts'
import { ConfirmDialog } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Page } from '../../ui/page/page.tsx'
import { Table } from '../../ui/table/table.tsx'
import { Badge } from '../../ui/text/badge.tsx'
import { countOf } from '../../ui/text/count.tsx'
import { Time } from '../../ui/text/time.tsx'
import { describeUserAgent } from './user-agent.ts'

const SESSIONS = { one: 'session', many: 'sessions' }

/** Lists the sessions of the account, which are the same in every project. */
export function SessionsPage() {
  const sessions = useQuery(sessionsQuery)
  if (sessions.isPending) return <Page title="Sessions" loading />
  if (sessions.isLoadingError) return <ErrorState error={sessions.error} retry={sessions.refetch} />
  const others = sessions.data.filter(({ isCurrent }) => !isCurrent)
  return (
    <Page
      title="Sessions"
      description="Where you are signed in. These are yours alone, and the same in every project."
      actions={others.length > 0 && <EndOthers count={others.length} />}
    >
      <Table
        caption="Sessions"
        rows={sessions.data}
        rowKey={({ id }) => id}
        columns={[
          { heading: 'Browser', cell: (session) => <Device session={session} /> },
          { heading: 'Network', cell: ({ network }) => <span className="font-mono text-code">{network}</span> },
          { cell: (session) => <EndButton session={session} /> },
        ]}
      />
    </Page>
  )
}

function Device({ session: { userAgent, isCurrent, createdAt, expiresAt } }: { session: Session }) {
  return (
    <>
      <p className="flex min-w-0 flex-wrap items-center gap-2 font-medium" title={userAgent ?? undefined}>
        {describeUserAgent(userAgent)}
        {isCurrent && <Badge tone="accent">This browser</Badge>}
      </p>
      <p className="text-muted text-xs">
        Signed in <Time value={createdAt} />, until <Time value={expiresAt} />
      </p>
    </>
  )
}

function EndButton({ session: { id, isCurrent, userAgent } }: { session: Session }) {
  const queries = useQueryClient()
  const end = useMutation({
    mutationFn: () => api.users.endSession(id),
    onSuccess: () => toast('The session was ended'),
    onError: (error) => toast(explain(error), { tone: 'danger' }),
    onSettled: () => invalidateSessions(queries),
  })
  if (isCurrent)
    return (
      <Button size="sm" onClick={() => signOut()}>
        Sign out
      </Button>
    )
  return (
    <Button size="sm" busy={end.isPending} aria-label={`End the session of ${describeUserAgent(userAgent)}`} onClick={() => end.mutate()}>
      End
    </Button>
  )
}

function EndOthers({ count }: { count: number }) {
  const queries = useQueryClient()
  async function end() {
    const { endedCount } = await api.users.endOtherSessions()
    await invalidateSessions(queries)
    toast(`${countOf(endedCount, SESSIONS)} ended`)
  }
  return (
    <ConfirmDialog
      title={`End ${countOf(count, { one: 'other session', many: 'other sessions' })}?`}
      description="Every other browser and device has to sign in again. This one stays signed in."
      action="End them"
      onConfirm={end}
    >
      {(open) => (
        <Button size="sm" onClick={open}>
          End all others…
        </Button>
      )}
    </ConfirmDialog>
  )
}
