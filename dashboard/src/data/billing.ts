import type { Result } from '@sterna/sdk'
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { api } from '../client/api.ts'
import { invalidate, keysOf } from './keys.ts'

const key = keysOf('billing')

const LIVE_MS = 30_000

export const limitsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'limits'),
    queryFn: () => api.projects.billingLimits(projectId),
    refetchInterval: LIVE_MS,
    staleTime: 0,
  })

export const storeLimits = (queries: QueryClient, projectId: string, limits: Result<'GET /users/@me/projects/{id}/billing-limits'>) => {
  queries.setQueryData(limitsQuery(projectId).queryKey, limits)
  return invalidate(queries, projectId, 'billing')
}

/** Works without Stripe too: then it is the calendar month. */
export const consumptionQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'consumption'), queryFn: () => api.projects.billingConsumption(projectId) })

export const invoicesQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'invoices'), queryFn: () => api.projects.billingInvoices(projectId) })
