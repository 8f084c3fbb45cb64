import { Sterna, SternaError } from '@sterna/sdk'
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'

export const api = new Sterna()

export const queryClient = new QueryClient({
  // The SDK already repeats what is worth repeating.
  defaultOptions: { queries: { retry: false, staleTime: 30_000 } },
  queryCache: new QueryCache({ onError: askToSignIn }),
  mutationCache: new MutationCache({ onError: askToSignIn }),
})

/** A session can end under any page. A full load, so that nothing of the last user stays in memory. */
function askToSignIn(error: Error) {
  const { pathname, search } = window.location
  const signedOut = error instanceof SternaError && error.code === 'UNAUTHORIZED'
  if (signedOut && pathname.startsWith('/app')) window.location.assign(`/sign-in?${new URLSearchParams({ next: pathname + search })}`)
}
