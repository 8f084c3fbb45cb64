import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { api, queryClient } from '../../api.ts'
import { meQuery } from '../../session/queries.ts'
import { buttonClass } from '../../ui/form/button.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { explain } from '../../ui/text/explain.ts'
import { AccountLayout } from './account-layout.tsx'

/** A write as a query: the query key runs it exactly once per token, however often the page renders. */
const verificationQuery = (token: string) =>
  queryOptions({
    queryKey: ['verify-email', token],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const verified = await api.auth.verifyEmail({ token })
      // A request for the account that is under way may return the state from before; it must not overwrite the new one.
      await queryClient.cancelQueries(meQuery)
      await queryClient.invalidateQueries(meQuery)
      return verified
    },
  })

export function VerifyEmailPage() {
  const { token } = useSearch({ from: '/verify-email' })
  const verification = useQuery(verificationQuery(token))
  const me = useQuery(meQuery)

  if (verification.isPending) {
    return (
      <AccountLayout title="Confirming your email address…">
        <Skeleton className="h-10" />
      </AccountLayout>
    )
  }
  // A link opened twice, or first by a scanner, has already worked: trust the account rather than the token.
  if (verification.isError && !me.data?.emailVerified) {
    return (
      <AccountLayout title="This link did not work" description={explain(verification.error)}>
        <Link to="/app" className={`${buttonClass('primary')} w-full`}>
          Open Sterna and request a new link
        </Link>
      </AccountLayout>
    )
  }

  return (
    <AccountLayout title="Email address confirmed" description="There is nothing else to do here.">
      <Link to="/app" className={`${buttonClass('primary')} w-full`}>
        Open Sterna
      </Link>
    </AccountLayout>
  )
}
