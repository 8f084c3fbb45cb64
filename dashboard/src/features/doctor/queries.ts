import { queryOptions } from '@tanstack/react-query'
import { api } from '../../api.ts'

const LIVE_MS = 30_000

/** Only operators may ask. */
export const doctorQuery = queryOptions({ queryKey: ['doctor'], queryFn: () => api.doctor.get(), refetchInterval: LIVE_MS })
