import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'

/** For pages without a use for a signed-in user. */
export function RedirectSignedIn({ next = '/app' }: { next?: string }) {
  const router = useRouter()
  useEffect(() => router.history.replace(next), [router, next])
  return null
}
