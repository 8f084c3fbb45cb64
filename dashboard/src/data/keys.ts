import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'

/** The nouns of queries. Each has one file in this folder, which makes its keys. */
type Noun =
  | 'activity'
  | 'analytics'
  | 'audit'
  | 'billing'
  | 'campaigns'
  | 'contacts'
  | 'domains'
  | 'emails'
  | 'events'
  | 'fields'
  | 'jobs'
  | 'palette'
  | 'sandbox'
  | 'segments'
  | 'setup'
  | 'suppressions'
  | 'team'
  | 'templates'
  | 'webhooks'
  | 'workflows'

const projectKey = (projectId: string, ...parts: unknown[]) => ['project', projectId, ...parts] as const

/** Keys of a noun. They begin with the project, so that nothing is ever shown in another one; those of lists go on with `list`. */
export const keysOf =
  (noun: Noun) =>
  (projectId: string, ...parts: unknown[]) =>
    projectKey(projectId, noun, ...parts)

/** Refetches what the page shows of these nouns, and the rest when it is shown. */
export const invalidate = (queries: QueryClient, projectId: string, ...nouns: Noun[]): Promise<unknown> =>
  Promise.all(nouns.map((noun) => queries.invalidateQueries({ queryKey: projectKey(projectId, noun) })))

/** The lists of a noun alone: its record is in the cache already, or is gone. */
export const invalidateLists = (queries: QueryClient, projectId: string, noun: Noun): Promise<void> =>
  queries.invalidateQueries({ queryKey: projectKey(projectId, noun, 'list') })

/** After something that shows up everywhere, such as an email. */
export const invalidateProject = (queries: QueryClient, projectId: string): Promise<void> =>
  queries.invalidateQueries({ queryKey: projectKey(projectId) })

/** The lists of pages, by the names that the preferences of their columns have, with the nouns that they are invalidated with. */
const LISTS = {
  activity: 'activity',
  audit: 'audit',
  'campaign-audience': 'campaigns',
  'campaign-excluded': 'campaigns',
  'campaign-recipients': 'campaigns',
  campaigns: 'campaigns',
  contacts: 'contacts',
  emails: 'emails',
  events: 'events',
  executions: 'workflows',
  sandbox: 'sandbox',
  'segment-history': 'segments',
  'segment-members': 'segments',
  segments: 'segments',
  suppressions: 'suppressions',
  templates: 'templates',
  visits: 'workflows',
  'webhook-deliveries': 'webhooks',
  workflows: 'workflows',
} as const satisfies Record<string, Noun>

export type ListName = keyof typeof LISTS

const listKey = (projectId: string, name: ListName, ...parts: unknown[]) => projectKey(projectId, LISTS[name], 'list', name, ...parts)

/** A page of a list. `request` is what the URL asks for, with what the list is of. */
export const listQuery = <Page>(projectId: string, name: ListName, request: unknown[], load: () => Promise<Page>) =>
  queryOptions({ queryKey: listKey(projectId, name, 'page', ...request), queryFn: load, placeholderData: keepPreviousData })

/** The same page as it is now: new rows wait behind a button. */
export const latestQuery = <Page>(projectId: string, name: ListName, request: unknown[], load: () => Promise<Page>) =>
  queryOptions({ queryKey: listKey(projectId, name, 'latest', ...request), queryFn: load, staleTime: 0, gcTime: 0 })
