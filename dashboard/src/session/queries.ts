import { queryOptions } from '@tanstack/react-query'
import { api } from '../api.ts'

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: () => api.users.me() })

/** The features of this installation. They change only with a restart. */
export const configQuery = queryOptions({ queryKey: ['config'], queryFn: () => api.config.get(), staleTime: Number.POSITIVE_INFINITY })
