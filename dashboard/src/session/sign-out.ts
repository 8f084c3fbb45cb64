import { api } from '../client/api.ts'
import { toast } from '../ui/dialog/toast.tsx'
import { explain } from '../ui/notice/explain.ts'

/** Ends with a full page load, which clears the data of this user from memory. */
export async function signOut(next?: string) {
  try {
    await api.auth.logOut()
    window.location.assign(next ? `/sign-in?${new URLSearchParams({ next })}` : '/sign-in')
  } catch (error) {
    toast(explain(error))
  }
}
