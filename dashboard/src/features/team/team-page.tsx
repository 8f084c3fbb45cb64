import type { Member } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { meQuery } from '../../data/account.ts'
import { membersQuery } from '../../data/projects.ts'
import { canManage, useProject } from '../../projects/current.ts'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Page } from '../../ui/page/page.tsx'
import { Table } from '../../ui/table/table.tsx'
import { Badge } from '../../ui/text/badge.tsx'
import { Time } from '../../ui/text/time.tsx'
import { PendingInvitations } from './invitations.tsx'
import { InviteDialog } from './invite.tsx'
import { RemoveMember } from './remove-member.tsx'
import { RoleSelect } from './role-select.tsx'
import { ROLES } from './roles.ts'

export function TeamPage() {
  const project = useProject()
  const members = useQuery(membersQuery(project.id))

  if (members.isPending) return <Page title="Team" loading />
  if (members.isLoadingError) return <ErrorState error={members.error} retry={members.refetch} />

  const mayManage = canManage(project)
  return (
    <Page
      title="Team"
      description="Members work with contacts and emails. Admins can also see the keys, invite people and change settings. Only the owner can reset or delete the project."
      actions={mayManage && <InviteDialog />}
    >
      <Table
        caption="Members"
        rows={members.data}
        rowKey={({ userId }) => userId}
        columns={[
          { heading: 'Member', cell: (member) => <Identity member={member} /> },
          { heading: 'Role', cell: (member) => <Role member={member} /> },
          { cell: (member) => <RemoveMember member={member} /> },
        ]}
      />
      {mayManage && <PendingInvitations />}
    </Page>
  )
}

function Identity({ member }: { member: Member }) {
  const me = useQuery(meQuery)
  return (
    <>
      <p className="truncate font-medium" title={member.email}>
        {member.email}
      </p>
      <p className="text-muted text-xs">
        {member.userId === me.data?.id ? 'You, joined ' : 'Joined '}
        <Time value={member.createdAt} />
      </p>
    </>
  )
}

function Role({ member }: { member: Member }) {
  const project = useProject()
  if (canManage(project) && member.role !== 'OWNER') return <RoleSelect member={member} />
  return <Badge tone={member.role === 'OWNER' ? 'accent' : 'neutral'}>{ROLES[member.role]}</Badge>
}
