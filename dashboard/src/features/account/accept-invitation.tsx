import type { Body, Result } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { api } from '../../client/api.ts'
import { invalidateJoined, invitationQuery, meQuery } from '../../data/account.ts'
import { signOut } from '../../session/sign-out.ts'
import { Button, buttonClass } from '../../ui/form/button.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { AccountLayout } from './account-layout.tsx'

type Invitation = NonNullable<Result<'POST /auth/invitation'>['invitation']>

export function AcceptInvitationPage() {
  const { token } = useSearch({ from: '/accept-invitation' })
  const me = useQuery(meQuery)
  const invitation = useQuery(invitationQuery(token))
  if (me.isPending || invitation.isPending) {
    return (
      <AccountLayout title="You are invited">
        <Skeleton className="h-10" />
      </AccountLayout>
    )
  }
  if (invitation.isError) {
    return (
      <AccountLayout title="You are invited">
        <Banner tone="danger">{explain(invitation.error)}</Banner>
      </AccountLayout>
    )
  }
  if (!invitation.data) return <Closed isSignedIn={me.isSuccess} />
  return me.isSuccess ? <Join as={me.data.email} invitation={invitation.data} /> : <SignInOrUp invitation={invitation.data} />
}

function describeInvitation({ invitedBy, project }: Invitation, invited: string) {
  return invitedBy
    ? `${invitedBy.email} invited ${invited} to “${project.name}”.`
    : `This is an invitation for ${invited} to “${project.name}”.`
}

function Closed({ isSignedIn }: { isSignedIn: boolean }) {
  return (
    <AccountLayout
      title="This invitation is no longer open"
      description="It was accepted, withdrawn or replaced, or it has expired: invitations last seven days. Ask for a new one."
    >
      <Link to={isSignedIn ? '/app' : '/sign-in'} className={`${buttonClass('secondary')} w-full`}>
        {isSignedIn ? 'Open Sterna' : 'Sign in'}
      </Link>
    </AccountLayout>
  )
}

function Join({ as, invitation }: { as: string; invitation: Invitation }) {
  const { token } = useSearch({ from: '/accept-invitation' })
  const { href } = useLocation()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const accept = useMutation({
    mutationFn: (body: Body<'POST /auth/accept-invitation'>) => api.auth.acceptInvitation(body),
    onSuccess: async ({ projectId }) => {
      await invalidateJoined(queries)
      await navigate({ to: '/app/p/$projectId', params: { projectId } })
    },
  })
  const { email, project } = invitation
  const isInvited = email.toLowerCase() === as.toLowerCase()

  return (
    <AccountLayout
      title="You are invited"
      description={describeInvitation(invitation, isInvited ? 'you' : email)}
      footer={
        <>
          {isInvited ? `You are signed in as ${as}.` : 'Not you?'}{' '}
          <button type="button" className="link" onClick={() => signOut(href)}>
            Use another account
          </button>
        </>
      }
    >
      <div className="space-y-5">
        {!isInvited && (
          <Banner tone="warning">
            The invitation is for {email}, but you are signed in as {as}.
          </Banner>
        )}
        {accept.isError && <Banner tone="danger">{explain(accept.error)}</Banner>}
        <Button variant="primary" busy={accept.isPending} className="w-full" onClick={() => accept.mutate({ token })}>
          Join {project.name}
        </Button>
      </div>
    </AccountLayout>
  )
}

function SignInOrUp({ invitation }: { invitation: Invitation }) {
  const { token } = useSearch({ from: '/accept-invitation' })
  const { href } = useLocation()
  const { email } = invitation
  return (
    <AccountLayout title="You are invited" description={describeInvitation(invitation, email)}>
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
