import { queryOptions } from '@tanstack/react-query'
import { api } from '../client/api.ts'

/** The features of this installation. They change only with a restart. */
export const configQuery = queryOptions({ queryKey: ['config'], queryFn: () => api.config.get(), staleTime: Number.POSITIVE_INFINITY })

const LIVE_MS = 30_000

/** Only operators may ask. */
export const doctorQuery = queryOptions({ queryKey: ['doctor'], queryFn: () => api.doctor.get(), refetchInterval: LIVE_MS })
