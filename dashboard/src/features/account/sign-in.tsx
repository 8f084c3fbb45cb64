import type { Body } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Navigate, useSearch } from '@tanstack/react-router'
import { api } from '../../client/api.ts'
import { meQuery } from '../../data/account.ts'
import { configQuery } from '../../data/installation.ts'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input, PasswordInput } from '../../ui/form/input.tsx'
import { Splash } from '../../ui/page/splash.tsx'
import { AccountLayout } from './account-layout.tsx'
import { RedirectSignedIn } from './redirect-signed-in.tsx'

export function SignInPage() {
  const { next } = useSearch({ from: '/sign-in' })
  const queries = useQueryClient()
  const me = useQuery(meQuery)
  const config = useQuery(configQuery)
  const signIn = useMutation({
    mutationFn: (body: Body<'POST /auth/login'>) => api.auth.logIn(body),
    onSuccess: () => queries.invalidateQueries(),
  })

  if (me.isSuccess) return <RedirectSignedIn next={next} />
  if (config.isPending) return <Splash />
  if (config.data && !config.data.features.signup.hasAccounts) return <Navigate to="/sign-up" search={{ next }} replace />

  return (
    <AccountLayout
      title="Welcome back"
      description="Sign in to your Sterna account."
      footer={
        <>
          New here?{' '}
          <Link to="/sign-up" search={{ next }} className="link">
            Create an account
          </Link>
        </>
      }
    >
      <Form error={signIn.error} onSubmit={(value) => signIn.mutate({ email: value('email'), password: value('password') })}>
        <Field name="email" label="Email">
          <Input type="email" autoComplete="username" required />
        </Field>
        <Field
          name="password"
          label="Password"
          aside={
            <Link to="/forgot-password" className="link text-ui">
              Forgot password?
            </Link>
          }
        >
          <PasswordInput autoComplete="current-password" required />
        </Field>
        <Button type="submit" variant="primary" busy={signIn.isPending} className="w-full">
          Sign in
        </Button>
      </Form>
    </AccountLayout>
  )
}
