import { api } from '../api.ts'
import { explain } from '../ui/explain.ts'
import { toast } from '../ui/toast.tsx'

/** Ends with a full page load, which clears the data of this user from memory. */
export async function signOut(next?: string) {
  try {
    await api.auth.logOut()
    window.location.assign(next ? `/sign-in?${new URLSearchParams({ next })}` : '/sign-in')
  } catch (error) {
    toast(explain(error))
  }
}
