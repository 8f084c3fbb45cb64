import { api } from '../api.ts'

/** Ends with a full load, so that nothing of this user stays in memory for the next. */
export async function signOut(next?: string) {
  await api.auth.logOut()
  window.location.assign(next ? `/sign-in?${new URLSearchParams({ next })}` : '/sign-in')
}
