import { useQuery } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { isSignedOut } from '../client/api.ts'
import { meQuery } from '../data/account.ts'
import { ErrorState } from '../ui/page/error-state.tsx'
import { Splash } from '../ui/page/splash.tsx'

/** Wraps every /app page. */
export function RequireSession() {
  const me = useQuery(meQuery)

  if (me.isPending) return <Splash />
  // The query client is already redirecting to the sign-in page.
  if (isSignedOut(me.error)) return <Splash />
  if (me.isLoadingError) return <ErrorState error={me.error} retry={me.refetch} />

  return <Outlet />
}
