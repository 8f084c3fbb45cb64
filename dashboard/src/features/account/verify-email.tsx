import { queryOptions, useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { api, queryClient } from '../../api.ts'
import { meQuery } from '../../session/queries.ts'
import { buttonClass } from '../../ui/button.tsx'
import { explain } from '../../ui/explain.ts'
import { Skeleton } from '../../ui/skeleton.tsx'
import { AccountLayout } from './account-layout.tsx'

/** A write, but one that is due exactly once per token however often the page renders: what a query key is for. */
const verificationQuery = (token: string) =>
  queryOptions({
    queryKey: ['verify-email', token],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const verified = await api.auth.verifyEmail({ token })
      // Asked at the same time, the account may answer what it was before; such an answer must not count as the newer one.
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
      <AccountLayout title="Confirming your address…">
        <Skeleton className="h-10" />
      </AccountLayout>
    )
  }
  // A link opened twice, or by a scanner first, has done its work: the account knows better than the token.
  if (verification.isError && !me.data?.emailVerified) {
    return (
      <AccountLayout title="This link did not work" description={explain(verification.error)}>
        <Link to="/app" className={`${buttonClass('primary')} w-full`}>
          Open Sterna and send a new one
        </Link>
      </AccountLayout>
    )
  }

  return (
    <AccountLayout title="Your address is confirmed" description="Thank you. Nothing else to do here.">
      <Link to="/app" className={`${buttonClass('primary')} w-full`}>
        Open Sterna
      </Link>
    </AccountLayout>
  )
}
