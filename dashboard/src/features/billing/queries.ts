import { queryOptions } from '@tanstack/react-query'
import { api, projectKey } from '../../api.ts'

const LIVE_MS = 30_000

export const limitsQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'billing', 'limits'),
    queryFn: () => api.projects.billingLimits(projectId),
    refetchInterval: LIVE_MS,
    staleTime: 0,
  })

/** Works without Stripe too: then it is the calendar month. */
export const consumptionQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'billing', 'consumption'), queryFn: () => api.projects.billingConsumption(projectId) })

export const invoicesQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'billing', 'invoices'), queryFn: () => api.projects.billingInvoices(projectId) })
