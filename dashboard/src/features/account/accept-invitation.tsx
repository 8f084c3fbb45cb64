import type { Body } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { api } from '../../api.ts'
import { meQuery } from '../../data/account.ts'
import { signOut } from '../../session/sign-out.ts'
import { Button, buttonClass } from '../../ui/form/button.tsx'
import { Banner } from '../../ui/page/banner.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { explain } from '../../ui/text/explain.ts'
import { AccountLayout } from './account-layout.tsx'

export function AcceptInvitationPage() {
  const me = useQuery(meQuery)
  if (me.isPending) {
    return (
      <AccountLayout title="You are invited">
        <Skeleton className="h-10" />
      </AccountLayout>
    )
  }
  return me.isSuccess ? <Join as={me.data.email} /> : <SignInOrUp />
}

function Join({ as }: { as: string }) {
  const { token, email } = useSearch({ from: '/accept-invitation' })
  const { href } = useLocation()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const accept = useMutation({
    mutationFn: (body: Body<'POST /auth/accept-invitation'>) => api.auth.acceptInvitation(body),
    onSuccess: async ({ projectId }) => {
      await queries.invalidateQueries()
      await navigate({ to: '/app/p/$projectId', params: { projectId } })
    },
  })
  const isInvited = !email || email.toLowerCase() === as.toLowerCase()

  return (
    <AccountLayout
      title="You are invited"
      description={`Join the project as ${as}.`}
      footer={
        <>
          Not you?{' '}
          <button type="button" className="link" onClick={() => signOut(href)}>
            Use another account
          </button>
        </>
      }
    >
      <div className="space-y-5">
        {!isInvited && (
          <Banner tone="warning">
            The invitation was sent to {email}, but you are signed in as {as}.
          </Banner>
        )}
        {accept.isError && <Banner tone="danger">{explain(accept.error)}</Banner>}
        <Button variant="primary" busy={accept.isPending} className="w-full" onClick={() => accept.mutate({ token })}>
          Join the project
        </Button>
      </div>
    </AccountLayout>
  )
}

function SignInOrUp() {
  const { token, email } = useSearch({ from: '/accept-invitation' })
  const { href } = useLocation()
  return (
    <AccountLayout
      title="You are invited"
      description={email ? `Someone invited ${email} to their project.` : 'Someone invited you to their project.'}
    >
      <div className="space-y-3">
        <Link to="/sign-up" search={{ invitation: token, email }} className={`${buttonClass('primary')} w-full`}>
          Create an account and join
        </Link>
        <Link to="/sign-in" search={{ next: href }} className={`${buttonClass('secondary')} w-full`}>
          I have an account
        </Link>
      </div>
    </AccountLayout>
  )
}
