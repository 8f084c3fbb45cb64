import type { Body } from '@sterna/sdk'
import { useMutation } from '@tanstack/react-query'
import { api } from '../client/api.ts'
import { Dialog } from '../ui/dialog/dialog.tsx'
import { toast } from '../ui/dialog/toast.tsx'
import { Button } from '../ui/form/button.tsx'
import { Field } from '../ui/form/field.tsx'
import { Form } from '../ui/form/form.tsx'
import { PasswordInput } from '../ui/form/input.tsx'

export function ChangePasswordDialog({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  return (
    <Dialog title="Change your password" description="You will be signed out on all other devices." open={open} onOpenChange={onOpenChange}>
      <ChangePasswordForm onDone={() => onOpenChange(false)} />
    </Dialog>
  )
}

function ChangePasswordForm({ onDone }: { onDone: () => void }) {
  const change = useMutation({
    mutationFn: (body: Body<'POST /auth/change-password'>) => api.auth.changePassword(body),
    onSuccess: () => {
      toast('Password changed')
      onDone()
    },
  })
  return (
    <Form
      error={change.error}
      onSubmit={(value) => change.mutate({ currentPassword: value('currentPassword'), password: value('password') })}
    >
      <Field name="currentPassword" label="Current password">
        <PasswordInput autoComplete="current-password" required />
      </Field>
      <Field name="password" label="New password" hint="At least 8 characters.">
        <PasswordInput autoComplete="new-password" minLength={8} required />
      </Field>
      <div className="flex flex-col-reverse gap-2 sm:flex-row sm:justify-end">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={change.isPending}>
          Change password
        </Button>
      </div>
    </Form>
  )
}
