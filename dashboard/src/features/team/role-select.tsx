import type { Member } from '@sterna/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { api } from '../../client/api.ts'
import { useProject } from '../../projects/current.ts'
import { toast } from '../../ui/dialog/toast.tsx'
import { Select } from '../../ui/form/input.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { ASSIGNABLE_ROLES } from './roles.ts'

export function RoleSelect({ member }: { member: Member }) {
  const project = useProject()
  const queries = useQueryClient()
  const change = useMutation({
    mutationFn: (role: 'ADMIN' | 'MEMBER') => api.members.changeRole(project.id, member.userId, { role }),
    onError: (error) => toast(explain(error)),
    // Invalidates everything: a change of one's own role changes every page.
    onSettled: () => queries.invalidateQueries(),
  })
  return (
    <div className="w-32">
      <Select
        aria-label={`Role of ${member.email}`}
        options={ASSIGNABLE_ROLES}
        value={change.isPending ? change.variables : member.role}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.target.value === 'ADMIN' ? 'ADMIN' : 'MEMBER')}
      />
    </div>
  )
}
