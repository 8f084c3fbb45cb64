import type { Body } from '@sterna/sdk'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api } from '../../client/api.ts'
import { SandboxHint } from '../../session/sandbox-hint.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input } from '../../ui/form/input.tsx'
import { AccountLayout } from './account-layout.tsx'

export function ForgotPasswordPage() {
  const request = useMutation({ mutationFn: (body: Body<'POST /auth/request-password-reset'>) => api.auth.requestPasswordReset(body) })
  const back = (
    <Link to="/sign-in" className="link">
      Back to sign in
    </Link>
  )

  if (request.isSuccess) {
    return (
      <AccountLayout
        title="Check your inbox"
        description={
          <>
            If {request.variables.email} has an account here, we sent a link to choose a new password. It works once and expires after an
            hour.
            <SandboxHint />
          </>
        }
        footer={back}
      />
    )
  }

  return (
    <AccountLayout
      title="Forgot your password?"
      description="Enter your email address and we will send you a link to choose a new one."
      footer={back}
    >
      <Form error={request.error} onSubmit={(value) => request.mutate({ email: value('email') })}>
        <Field name="email" label="Email">
          <Input type="email" autoComplete="username" required />
        </Field>
        <Button type="submit" variant="primary" busy={request.isPending} className="w-full">
          Send the link
        </Button>
      </Form>
    </AccountLayout>
  )
}
