import { useMutation, useQueryClient } from '@tanstack/react-query'
import { UserPlus } from 'lucide-react'
import { api } from '../../client/api.ts'
import { invalidateTeam } from '../../data/projects.ts'
import { useProject } from '../../projects/current.ts'
import { SandboxHint } from '../../session/sandbox-hint.tsx'
import { CreateDialog } from '../../ui/dialog/create-dialog.tsx'
import { DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Choices } from '../../ui/form/choices.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'

const ROLE_CHOICES = [
  { value: 'MEMBER', label: 'Member', hint: 'Can work with contacts, emails and everything else in the project.' },
  { value: 'ADMIN', label: 'Admin', hint: 'Can also see the keys, invite people and change settings.' },
]

export function InviteDialog() {
  const project = useProject()
  return (
    <CreateDialog
      label="Invite"
      icon={UserPlus}
      title={`Invite someone to ${project.name}`}
      description={
        <>
          Someone with a verified account joins immediately. Anyone else receives an email with a link.
          <SandboxHint />
        </>
      }
    >
      {(close) => <InviteForm onDone={close} />}
    </CreateDialog>
  )
}

function InviteForm({ onDone }: { onDone: () => void }) {
  const project = useProject()
  const queries = useQueryClient()
  const invite = useMutation({
    mutationFn: (body: Parameters<typeof api.members.invite>[1]) => api.members.invite(project.id, body),
    onSuccess: async ({ email, status }) => {
      await invalidateTeam(queries, project.id)
      toast(status === 'MEMBER' ? `${email} joined the team` : `Invitation sent to ${email}`)
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
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={invite.isPending}>
          Send invitation
        </Button>
      </DialogButtons>
    </Form>
  )
}
