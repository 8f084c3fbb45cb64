import { queryOptions } from '@tanstack/react-query'
import { api } from '../api.ts'

export const meQuery = queryOptions({ queryKey: ['me'], queryFn: () => api.users.me() })

/** What this installation offers; only a restart changes it. */
export const configQuery = queryOptions({ queryKey: ['config'], queryFn: () => api.config.get(), staleTime: Number.POSITIVE_INFINITY })
