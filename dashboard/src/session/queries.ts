import { queryOptions } from '@tanstack/react-query'
import { api, SignedOutError } from '../api.ts'

/** Asks in a way that is no failed request for a visitor who is not signed in. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async () => {
    const { user } = await api.auth.session()
    if (!user) throw new SignedOutError()
    return user
  },
})

/** The features of this installation. They change only with a restart. */
export const configQuery = queryOptions({ queryKey: ['config'], queryFn: () => api.config.get(), staleTime: Number.POSITIVE_INFINITY })
