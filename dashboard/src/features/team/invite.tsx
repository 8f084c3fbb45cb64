import { useMutation, useQueryClient } from '@tanstack/react-query'
import { UserPlus } from 'lucide-react'
import { useState } from 'react'
import { api } from '../../api.ts'
import { useProject } from '../../projects/current.ts'
import { SandboxHint } from '../../session/sandbox-hint.tsx'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { Form } from '../../ui/form.tsx'
import { Input } from '../../ui/input.tsx'
import { toast } from '../../ui/toast.tsx'
import { invitationsQuery, membersQuery } from './queries.ts'

const ROLE_CHOICES = [
  { value: 'MEMBER', label: 'Member', hint: 'Works with contacts, emails and everything else in the project.' },
  { value: 'ADMIN', label: 'Admin', hint: 'Also sees the keys, invites people and changes settings.' },
]

export function InviteDialog() {
  const [open, setOpen] = useState(false)
  const project = useProject()
  return (
    <>
      <Button variant="primary" onClick={() => setOpen(true)}>
        <UserPlus className="size-4" aria-hidden="true" />
        Invite
      </Button>
      <Dialog
        title={`Invite someone to ${project.name}`}
        description={
          <>
            Whoever has an account here joins at once. Everyone else gets a mail with a link to create one.
            <SandboxHint />
          </>
        }
        open={open}
        onOpenChange={setOpen}
      >
        <InviteForm onDone={() => setOpen(false)} />
      </Dialog>
    </>
  )
}

function InviteForm({ onDone }: { onDone: () => void }) {
  const project = useProject()
  const queries = useQueryClient()
  const invite = useMutation({
    mutationFn: (body: Parameters<typeof api.members.invite>[1]) => api.members.invite(project.id, body),
    onSuccess: async ({ email, status }) => {
      await Promise.all([queries.invalidateQueries(membersQuery(project.id)), queries.invalidateQueries(invitationsQuery(project.id))])
      toast(status === 'MEMBER' ? `${email} is on the team` : `${email} is invited`)
      onDone()
    },
  })
  return (
    <Form
      error={invite.error}
      onSubmit={(value) => invite.mutate({ email: value('email'), role: value('role') === 'ADMIN' ? 'ADMIN' : 'MEMBER' })}
    >
      <Field name="email" label="Email">
        <Input type="email" autoComplete="off" required />
      </Field>
      <Choices legend="Role" name="role" choices={ROLE_CHOICES} chosen="MEMBER" />
      <div className="flex flex-col-reverse gap-3 sm:flex-row sm:justify-end">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={invite.isPending}>
          Send invitation
        </Button>
      </div>
    </Form>
  )
}
