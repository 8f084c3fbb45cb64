import type { Invitation } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Mail, X } from 'lucide-react'
import { api } from '../../api.ts'
import { invalidateTeam, invitationsQuery } from '../../data/projects.ts'
import { useProject } from '../../projects/current.ts'
import { toast } from '../../ui/dialog/toast.tsx'
import { IconButton } from '../../ui/form/button.tsx'
import { EmptyState } from '../../ui/page/empty-state.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { Table } from '../../ui/table/table.tsx'
import { Badge } from '../../ui/text/badge.tsx'
import { explain } from '../../ui/text/explain.ts'
import { Time } from '../../ui/text/time.tsx'
import { ROLES } from './roles.ts'

export function PendingInvitations() {
  return (
    <section className="space-y-2 pt-2" aria-labelledby="invitations">
      <h2 id="invitations" className="font-semibold text-base">
        Pending invitations
      </h2>
      <InvitationList />
    </section>
  )
}

function InvitationList() {
  const project = useProject()
  const invitations = useQuery(invitationsQuery(project.id))

  if (invitations.isPending) return <Skeleton className="h-32 rounded-xl" />
  if (invitations.isLoadingError) return <ErrorState error={invitations.error} retry={invitations.refetch} />
  if (invitations.data.length === 0) {
    return (
      <EmptyState icon={Mail} title="No pending invitations">
        People you invite appear here until they join.
      </EmptyState>
    )
  }

  return (
    <Table
      caption="Pending invitations"
      rows={invitations.data}
      rowKey={({ id }) => id}
      columns={[
        { heading: 'Invited', cell: (invitation) => <Invitee invitation={invitation} /> },
        { heading: 'Role', cell: ({ role }) => <Badge>{ROLES[role]}</Badge> },
        { cell: (invitation) => <WithdrawButton invitation={invitation} /> },
      ]}
    />
  )
}

function Invitee({ invitation: { email, expiresAt } }: { invitation: Invitation }) {
  return (
    <>
      <p className="truncate font-medium" title={email}>
        {email}
      </p>
      <p className="text-muted text-xs">
        Expires <Time value={expiresAt} />
      </p>
    </>
  )
}

function WithdrawButton({ invitation }: { invitation: Invitation }) {
  const project = useProject()
  const queries = useQueryClient()
  const withdraw = useMutation({
    mutationFn: () => api.invitations.withdraw(project.id, invitation.id),
    onSuccess: () => toast(`Invitation of ${invitation.email} withdrawn`),
    onError: (error) => toast(explain(error)),
    onSettled: () => invalidateTeam(queries, project.id),
  })
  return (
    <IconButton label={`Withdraw the invitation of ${invitation.email}`} disabled={withdraw.isPending} onClick={() => withdraw.mutate()}>
      <X />
    </IconButton>
  )
}
