import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { meQuery, verificationQuery } from '../../data/account.ts'
import { buttonClass } from '../../ui/form/button.tsx'
import { explain } from '../../ui/notice/explain.ts'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { AccountLayout } from './account-layout.tsx'

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
