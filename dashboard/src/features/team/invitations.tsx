import type { Invitation } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link2, Mail, X } from 'lucide-react'
import { api } from '../../client/api.ts'
import { invalidateTeam, invitationsQuery } from '../../data/projects.ts'
import { useProject } from '../../projects/current.ts'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button, IconButton } from '../../ui/form/button.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { EmptyState } from '../../ui/page/empty-state.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { Table } from '../../ui/table/table.tsx'
import { Badge } from '../../ui/text/badge.tsx'
import { copy } from '../../ui/text/copy.ts'
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
        {
          cell: (invitation) => (
            <span className="flex items-center justify-end gap-1">
              <CopyLinkButton invitation={invitation} />
              <WithdrawButton invitation={invitation} />
            </span>
          ),
        },
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

/** For an invitation that is passed on by other means than the email. Copying again ends the link copied before. */
function CopyLinkButton({ invitation }: { invitation: Invitation }) {
  const project = useProject()
  const create = useMutation({
    mutationFn: () => api.invitations.link(project.id, invitation.id),
    onSuccess: ({ url }) => copy(url, 'Link'),
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
  return (
    <Button size="sm" busy={create.isPending} aria-label={`Copy link for ${invitation.email}`} onClick={() => create.mutate()}>
      <Link2 aria-hidden="true" />
      Copy link
    </Button>
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
