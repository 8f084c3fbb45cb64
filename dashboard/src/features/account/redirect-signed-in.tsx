import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'

/** Replaces a page that makes no sense for a signed-in user. */
export function RedirectSignedIn({ next = '/app' }: { next?: string }) {
  const router = useRouter()
  useEffect(() => router.history.replace(next), [router, next])
  return null
}
