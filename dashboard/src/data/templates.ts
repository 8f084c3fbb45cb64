import type { Body, Design, Template, TemplateListItem } from '@sterna/sdk'
import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { byName, namesById } from '../ui/form/options.ts'
import { domainsQuery } from './domains.ts'
import { invalidateLists, keysOf } from './keys.ts'

const key = keysOf('templates')

/** More templates than this are found on their own page. */
const MAX_OFFERED = 100

/** Templates to choose from, the last changed first. */
export const offeredTemplatesQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'offered'),
    queryFn: async () => (await apiOf(projectId).templates.list({ pageSize: MAX_OFFERED, sort: 'updatedAt', dir: 'desc' })).data,
  })

/** Templates whose name or subject has this text, the last changed first. */
export const foundTemplatesQuery = (projectId: string, search: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'found', search),
    queryFn: async () =>
      (await apiOf(projectId).templates.list({ pageSize: 20, sort: 'updatedAt', dir: 'desc', ...(search && { search }) })).data,
    placeholderData: keepPreviousData,
  })

export const templatesByNameQuery = (projectId: string) =>
  queryOptions({ ...offeredTemplatesQuery(projectId), select: byName<TemplateListItem> })

/** Names of templates by their ids. */
export const templateNamesQuery = (projectId: string) => queryOptions({ ...offeredTemplatesQuery(projectId), select: namesInOrder })

const namesInOrder = (templates: TemplateListItem[]) => namesById(byName(templates))

export const templateQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'one', id), queryFn: () => apiOf(projectId).templates.get(id) })

/** A write also makes a version. */
export const storeTemplate = (queries: QueryClient, projectId: string, template: Template) => {
  queries.setQueryData(templateQuery(projectId, template.id).queryKey, template)
  return Promise.all([
    invalidateLists(queries, projectId, 'templates'),
    queries.invalidateQueries(templateVersionsQuery(projectId, template.id)),
  ])
}

export const templateUsageQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'usage', id), queryFn: () => apiOf(projectId).templates.usage(id) })

/** How often each template of a page of the list is used. */
export const templateUseCountsQuery = (projectId: string, ids: string[]) =>
  queryOptions({
    queryKey: key(projectId, 'use-counts', ids.join()),
    queryFn: async () => {
      const { data } = await apiOf(projectId).templates.usageCounts({ ids: ids.join() })
      return new Map(data.map((counts) => [counts.id, counts]))
    },
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  })

export const templateVersionsQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: key(projectId, 'versions', id),
    queryFn: async () => (await apiOf(projectId).templates.listVersions(id)).data,
  })

/** The content of a version never changes. */
export const templateVersionQuery = (projectId: string, id: string, version: string) =>
  queryOptions({
    queryKey: key(projectId, 'version', id, version),
    queryFn: () => apiOf(projectId).templates.getVersion(id, version),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** The saved template as a contact would get it; without one, a made-up person. The page in the frame expires. */
export const templatePreviewQuery = (projectId: string, { id, updatedAt }: Pick<Template, 'id' | 'updatedAt'>, contactId?: string) =>
  queryOptions({
    queryKey: key(projectId, 'preview', id, updatedAt, contactId),
    queryFn: () => apiOf(projectId).templates.preview(id, { ...(contactId && { contactId }), frame: true }),
    gcTime: 0,
  })

/** `request` as text: an equal one is the same query. A new page in the frame would scroll it to the top. */
export const contentPreviewQuery = (projectId: string, request: string) =>
  queryOptions({
    queryKey: key(projectId, 'content-preview', request),
    queryFn: () => apiOf(projectId).templates.previewContent(JSON.parse(request) as Body<'POST /templates/preview'>),
    placeholderData: keepPreviousData,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })

/** Issues that the server finds in a content, given as text as above. */
export const lintQuery = (projectId: string, content: string) =>
  queryOptions({
    queryKey: key(projectId, 'lint', content),
    queryFn: async () => (await apiOf(projectId).templates.lintContent(JSON.parse(content) as Body<'POST /templates/lint'>)).issues,
    placeholderData: keepPreviousData,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })

/** Emails to start from, in the look of the project. */
export const startersQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'starters'), queryFn: () => apiOf(projectId).designs.starters(), staleTime: 5 * 60_000 })

/** The HTML of a design, given as text: an equal one is the same query. */
export const renderedDesignQuery = (projectId: string, design: string) =>
  queryOptions({
    queryKey: key(projectId, 'rendered', design),
    queryFn: () => apiOf(projectId).designs.render({ design: JSON.parse(design) as Design }),
    placeholderData: keepPreviousData,
    gcTime: 0,
  })

/** Pages in frames expire after 15 minutes. */
const THUMBNAIL_MS = 10 * 60_000

/** The URL of a preview of a content (`{design}` or `{body}`, as text), without the data of any contact. */
export const thumbnailQuery = (projectId: string, content: string) =>
  queryOptions({
    queryKey: key(projectId, 'thumbnail', content),
    queryFn: async () => {
      const given = JSON.parse(content) as { design: Design } | { body: string }
      const { frameUrl } = await apiOf(projectId).templates.previewContent({ subject: 'Picture', ...given, frame: true })
      return frameUrl ?? null
    },
    select: (url) => url ?? undefined,
    staleTime: THUMBNAIL_MS,
    gcTime: THUMBNAIL_MS,
    retry: false,
    refetchOnWindowFocus: false,
  })

/** The sender of a new email: that of the template changed last, else one of the first verified domain. Empty if there is none. */
export async function findSender(
  queries: QueryClient,
  { id, name }: { id: string; name: string },
): Promise<{ from?: string; fromName?: string }> {
  const last = (await queries.fetchQuery(offeredTemplatesQuery(id))).find(({ from }) => from)
  if (last?.from) return { from: last.from, ...(last.fromName && { fromName: last.fromName }) }
  const domain = (await queries.fetchQuery(domainsQuery(id))).find(({ verified }) => verified)
  return domain ? { from: `hello@${domain.domain}`, fromName: name } : {}
}
