import type { Body } from '@sterna/sdk'
import { useMutation } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { api } from '../../client/api.ts'
import { Button, buttonClass } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { PasswordInput } from '../../ui/form/input.tsx'
import { AccountLayout } from './account-layout.tsx'

export function ResetPasswordPage() {
  const { token } = useSearch({ from: '/reset-password' })
  const reset = useMutation({ mutationFn: (body: Body<'POST /auth/reset-password'>) => api.auth.resetPassword(body) })

  if (reset.isSuccess) {
    return (
      <AccountLayout title="Password changed" description="All other sessions were signed out.">
        <Link to="/sign-in" className={`${buttonClass('primary')} w-full`}>
          Sign in
        </Link>
      </AccountLayout>
    )
  }

  return (
    <AccountLayout
      title="Choose a new password"
      footer={
        <>
          Link expired?{' '}
          <Link to="/forgot-password" className="link">
            Request a new one
          </Link>
        </>
      }
    >
      <Form error={reset.error} onSubmit={(value) => reset.mutate({ token, password: value('password') })}>
        <Field name="password" label="New password" hint="At least 8 characters.">
          <PasswordInput autoComplete="new-password" minLength={8} required />
        </Field>
        <Button type="submit" variant="primary" busy={reset.isPending} className="w-full">
          Change password
        </Button>
      </Form>
    </AccountLayout>
  )
}
