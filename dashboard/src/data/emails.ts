import type { Email } from '@sterna/sdk'
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { pollInterval } from '../client/poll.ts'
import { invalidate, keysOf } from './keys.ts'

const key = keysOf('emails')

/** A bounce or a delivery often follows within this time of sending. */
const REPORTED_MS = 60_000

/** Such an email may change at any moment. */
export const isUnderWay = ({ status, sentAt }: Pick<Email, 'status' | 'sentAt'>, now = Date.now()) =>
  status === 'PENDING' || status === 'SENDING' || (status === 'SENT' && sentAt !== null && now - Date.parse(sentAt) < REPORTED_MS)

/** An email with its story. Polled until nothing more is being sent. */
export const emailQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: key(projectId, 'one', id),
    queryFn: () => apiOf(projectId).emails.get(id),
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data) ? pollInterval(state.dataUpdateCount) : false),
    staleTime: 0,
  })

/** The URL of its frame lasts 15 minutes; an older one is fetched again. */
export const emailPreviewQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: key(projectId, 'preview', id),
    queryFn: () => apiOf(projectId).emails.preview(id),
    staleTime: 10 * 60_000,
    gcTime: 0,
  })

const LIVE_MS = 30_000
const MAX_SCHEDULED = 20

/** Emails to a contact that wait for the time that their request gave. */
export const scheduledEmailsQuery = (projectId: string, contactId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'scheduled', contactId),
    queryFn: async () => (await apiOf(projectId).emails.list({ contactId, scheduled: 'true', limit: MAX_SCHEDULED })).data,
    refetchInterval: LIVE_MS,
  })

/** Whether anything was ever sent. */
export const hasEmailsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'any'),
    queryFn: async () => (await apiOf(projectId).emails.list({ limit: 1 })).total > 0,
    refetchInterval: LIVE_MS,
  })

export const invalidateEmails = (queries: QueryClient, projectId: string) => invalidate(queries, projectId, 'emails')
