import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, queryClient, SignedOutError } from '../client/api.ts'

/** A visitor who is not signed in gets an answer, not a failed request. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async () => {
    const { user } = await api.auth.session()
    if (!user) throw new SignedOutError()
    return user
  },
})

export const invalidateMe = (queries: QueryClient) => queries.invalidateQueries(meQuery)

/** A write as a query: the query key runs it exactly once per token, however often the page renders. */
export const verificationQuery = (token: string) =>
  queryOptions({
    queryKey: ['verify-email', token],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const verified = await api.auth.verifyEmail({ token })
      // A pending request for the account may return the state from before; it must not overwrite the new one.
      await queryClient.cancelQueries(meQuery)
      await queryClient.invalidateQueries(meQuery)
      return verified
    },
  })

/** The invitation behind a link. Null: it is no longer open. */
export const invitationQuery = (token: string) =>
  queryOptions({
    queryKey: ['invitation', token],
    queryFn: async () => (await api.auth.invitation({ token })).invitation,
  })

/** Everything but the invitation: it is used up, and its page is still open. */
export const invalidateJoined = (queries: QueryClient) =>
  queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'invitation' })

export const sessionsQuery = queryOptions({ queryKey: ['sessions'], queryFn: () => api.users.listSessions(), staleTime: 0 })

export const invalidateSessions = (queries: QueryClient) => queries.invalidateQueries(sessionsQuery)
