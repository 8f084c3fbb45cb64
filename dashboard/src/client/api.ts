import { Sterna, SternaError } from '@sterna/sdk'
import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'

/** Accounts, projects and everything else that is not inside one project. */
export const api = new Sterna()

const clients = new Map<string, Sterna>()

/** The client of one project. Pages use `useApi()`. */
export function apiOf(projectId: string): Sterna {
  const client = clients.get(projectId) ?? new Sterna({ projectId })
  clients.set(projectId, client)
  return client
}

/** Nobody is signed in, in this browser. */
export class SignedOutError extends Error {
  constructor() {
    super('You are not signed in.')
  }
}

export const isSignedOut = (error: unknown) =>
  error instanceof SignedOutError || (error instanceof SternaError && error.code === 'UNAUTHORIZED')

export const queryClient = new QueryClient({
  // The SDK already retries GETs.
  defaultOptions: { queries: { retry: false, staleTime: 30_000 } },
  queryCache: new QueryCache({ onError: redirectToSignIn }),
  mutationCache: new MutationCache({ onError: redirectToSignIn }),
})

/** A session can end while any page is open. A full page load clears the data of the last user from memory. */
function redirectToSignIn(error: Error) {
  const { pathname, search } = window.location
  if (isSignedOut(error) && pathname.startsWith('/app'))
    window.location.assign(`/sign-in?${new URLSearchParams({ next: pathname + search })}`)
}
