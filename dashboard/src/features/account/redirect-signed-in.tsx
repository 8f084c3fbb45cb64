import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'

/** In place of a page that has nothing to offer to someone who is signed in already. */
export function GoOn({ next = '/app' }: { next?: string }) {
  const router = useRouter()
  useEffect(() => router.history.replace(next), [router, next])
  return null
}
