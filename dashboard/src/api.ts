import { Sterna, SternaError } from '@sterna/sdk'
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'

export const api = new Sterna()

export const queryClient = new QueryClient({
  // The SDK already retries GETs.
  defaultOptions: { queries: { retry: false, staleTime: 30_000 } },
  queryCache: new QueryCache({ onError: redirectToSignIn }),
  mutationCache: new MutationCache({ onError: redirectToSignIn }),
})

/** A session can end while any page is open. A full page load clears the data of the last user from memory. */
function redirectToSignIn(error: Error) {
  const { pathname, search } = window.location
  const signedOut = error instanceof SternaError && error.code === 'UNAUTHORIZED'
  if (signedOut && pathname.startsWith('/app')) window.location.assign(`/sign-in?${new URLSearchParams({ next: pathname + search })}`)
}
