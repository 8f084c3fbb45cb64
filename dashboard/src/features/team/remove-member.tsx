import type { Member } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { LogOut, UserMinus } from 'lucide-react'
import { api } from '../../client/api.ts'
import { meQuery } from '../../data/account.ts'
import { invalidateTeam } from '../../data/projects.ts'
import { canManage, useProject } from '../../projects/current.ts'
import { useLeaveProject } from '../../projects/leave-project.ts'
import { ConfirmDialog } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { IconButton } from '../../ui/form/button.tsx'

/** Every member but the owner may leave; owners and admins may remove any member but the owner. */
export function RemoveMember({ member }: { member: Member }) {
  const project = useProject()
  const me = useQuery(meQuery)
  if (member.role === 'OWNER') return null
  if (member.userId === me.data?.id) return <Leave member={member} />
  return canManage(project) && <Remove member={member} />
}

function Remove({ member }: { member: Member }) {
  const project = useProject()
  const queries = useQueryClient()

  async function remove() {
    await api.members.remove(project.id, member.userId)
    await invalidateTeam(queries, project.id)
    toast(`${member.email} was removed`)
  }

  return (
    <ConfirmDialog
      title={`Remove ${member.email}?`}
      description={`They lose access to ${project.name} immediately. Their work is kept.`}
      action="Remove"
      onConfirm={remove}
    >
      {(open) => (
        <IconButton label={`Remove ${member.email}`} onClick={open}>
          <UserMinus />
        </IconButton>
      )}
    </ConfirmDialog>
  )
}

function Leave({ member }: { member: Member }) {
  const project = useProject()
  const leaveProject = useLeaveProject()

  async function leave() {
    await api.members.remove(project.id, member.userId)
    await leaveProject(project.id)
    toast(`You left ${project.name}`)
  }

  return (
    <ConfirmDialog
      title={`Leave ${project.name}?`}
      description="You lose access immediately. To rejoin, you need a new invitation."
      action="Leave"
      onConfirm={leave}
    >
      {(open) => (
        <IconButton label="Leave this project" onClick={open}>
          <LogOut />
        </IconButton>
      )}
    </ConfirmDialog>
  )
}
