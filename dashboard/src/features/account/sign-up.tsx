import type { Body } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { api } from '../../client/api.ts'
import { meQuery } from '../../data/account.ts'
import { configQuery } from '../../data/installation.ts'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { Input, PasswordInput } from '../../ui/form/input.tsx'
import { AccountLayout } from './account-layout.tsx'
import { RedirectSignedIn } from './redirect-signed-in.tsx'

const CLAIM_HINT = (
  <>
    It shows that this server is yours. The server’s log has it, and <code>sterna claim-code</code> prints it.
  </>
)

export function SignUpPage() {
  const { next, invitation, email } = useSearch({ from: '/sign-up' })
  const queries = useQueryClient()
  const me = useQuery(meQuery)
  const config = useQuery(configQuery)
  const signUp = useMutation({
    mutationFn: (body: Body<'POST /auth/signup'>) => api.auth.signUp(body),
    onSuccess: () => queries.invalidateQueries(),
  })

  if (me.isSuccess) return <RedirectSignedIn next={next} />

  const isFirst = config.data?.features.signup.hasAccounts === false
  const needsClaimCode = config.data?.features.signup.needsClaimCode
  const signIn = (
    <>
      Already have an account?{' '}
      <Link to="/sign-in" search={{ next }} className="link">
        Sign in
      </Link>
    </>
  )
  if (config.data?.features.signup.signupsDisabled && !invitation) {
    return (
      <AccountLayout
        title="Sign-ups are closed"
        description="New accounts on this server need an invitation. Ask a member of a project to invite you."
        footer={signIn}
      />
    )
  }

  return (
    <AccountLayout
      title="Create your account"
      description={
        invitation
          ? 'You will join the project right away.'
          : isFirst
            ? 'It is the first one of this installation, so it will be its operator.'
            : 'One account for all your projects.'
      }
      footer={isFirst ? undefined : signIn}
    >
      <Form
        error={signUp.error}
        onSubmit={(value) =>
          signUp.mutate({
            email: value('email'),
            password: value('password'),
            ...(invitation && { invitation }),
            ...(needsClaimCode && { claimCode: value('claimCode') }),
          })
        }
      >
        <Field name="email" label="Email">
          <Input type="email" autoComplete="username" defaultValue={email} readOnly={Boolean(invitation && email)} required />
        </Field>
        <Field name="password" label="Password" hint="At least 8 characters. A few unrelated words make a good one.">
          <PasswordInput autoComplete="new-password" minLength={8} required />
        </Field>
        {needsClaimCode && (
          <Field name="claimCode" label="Claim code" hint={CLAIM_HINT}>
            <Input autoComplete="off" autoCapitalize="characters" spellCheck={false} maxLength={100} required />
          </Field>
        )}
        <Button type="submit" variant="primary" busy={signUp.isPending} className="w-full">
          Create account
        </Button>
      </Form>
    </AccountLayout>
  )
}
