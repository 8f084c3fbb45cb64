import { SternaError } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { meQuery } from '../account/queries.ts'
import { ErrorState } from '../ui/error-state.tsx'
import { Tern } from '../ui/logo.tsx'

/** Around every /app page. */
export function RequireSession() {
  const me = useQuery(meQuery)

  if (me.isPending) return <Splash />
  // The query client is already on its way to the sign-in page.
  if (me.error instanceof SternaError && me.error.code === 'UNAUTHORIZED') return <Splash />
  if (me.isError) return <ErrorState error={me.error} retry={me.refetch} />

  return <Outlet />
}

function Splash() {
  return (
    <div role="status" className="grid min-h-dvh place-items-center">
      <Tern className="size-12 text-accent motion-safe:animate-pulse" />
      <span className="sr-only">Loading…</span>
    </div>
  )
}
