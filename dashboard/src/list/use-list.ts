import type { Sterna } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { type ListName, latestQuery, listQuery } from '../data/keys.ts'
import { useApi, useProject } from '../projects/current.ts'
import { usePreference } from '../session/preferences.ts'
import type { Filter } from './filters.ts'
import { changeSearch, isFiltered, type ListRequest, type ListSearch, readRequest } from './list-search.ts'
import { loadCounted } from './load-counted.ts'
import { mergeRows } from './merge-rows.ts'
import { NOTHING, type Selection } from './selection.ts'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The cursors of the pages before this one, to go back to newer rows. */
    trail?: string[]
  }
}

type ListData<Row> = { data: Row[]; cursor: string | null; hasMore: boolean; total: number }

type ListOptions<Row> = {
  name: ListName
  /** The parent of the list if it is not the project, such as the id of a campaign. */
  scope?: string
  filters?: Filter[]
  /** The total of a page after the first may be 0. */
  load: (api: Sterna, request: ListRequest) => Promise<ListData<Row>>
  rowId: (row: Row) => string
  /** Interval in ms of looking for new rows, on the first page. They wait behind a button, so that no row moves under the pointer. */
  live?: number
  /** True if the total is an estimate. */
  isEstimate?: (total: number, request: ListRequest) => boolean
}

const NO_FILTERS: Filter[] = []

/** The state and the rows of a list page. The URL holds the state, the query the rows. */
export function useList<Row>({ name, scope = '', filters = NO_FILTERS, load, rowId, live, isEstimate }: ListOptions<Row>) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const [size, setSize] = usePreference('size', 25)
  const url = useListUrl()
  const { search } = url
  const request = readRequest(search, { filters: filters.map((filter) => filter.name), size })

  const page = listQuery(project.id, name, [request, scope], () => loadCounted((each) => load(api, each), request))
  const query = useQuery(page)
  const isFirstPage = request.cursor === undefined
  const latest = useQuery({
    ...latestQuery(project.id, name, [request, scope], () => load(api, request)),
    enabled: live !== undefined && isFirstPage && query.isSuccess && !query.isPlaceholderData,
    refetchInterval: live ?? false,
  })
  const shown = useMemo(() => mergeRows(query.data?.data, latest.data?.data, rowId), [query.data, latest.data, rowId])

  const what = JSON.stringify([request.q, request.filters, scope])
  const [selection, setSelection] = useSelection(what)
  const total = latest.data?.total ?? query.data?.total ?? 0

  return {
    name,
    filters,
    request,
    search,
    rowId,
    rows: shown.rows,
    /** Rows that arrived since the page was loaded. */
    newCount: shown.newCount,
    showNew: () => queries.setQueryData(page.queryKey, latest.data),
    total,
    isEstimate: isEstimate?.(total, request) ?? false,
    isFiltered: isFiltered(request),
    isPending: query.isPending,
    /** The rows are those of the previous request. */
    isStale: query.isPlaceholderData,
    error: query.error,
    retry: () => query.refetch(),
    /** The cursor of the previous request does not fit the filters and order of this one. */
    hasMore: !query.isPlaceholderData && (query.data?.hasMore ?? false),
    isFirstPage,
    older: () => query.data?.cursor && url.turnTo(query.data.cursor),
    newer: url.turnBack,
    /** False after opening a link to a page in the middle: then only the first page is known. */
    knowsNewer: url.knowsNewer,
    change: url.change,
    setSize: (next: number) => {
      setSize(next)
      url.change({ size: undefined })
    },
    peek: url.peek,
    selection,
    setSelection,
  }
}

export type List<Row> = ReturnType<typeof useList<Row>>

/** Deselects everything when the filters change: the rows may no longer be on any page. */
function useSelection(what: string) {
  const [state, setState] = useState({ what, selection: NOTHING })
  const selection = state.what === what ? state.selection : NOTHING
  return [selection, (next: Selection) => setState({ what, selection: next })] as const
}

function useListUrl() {
  // Every route of a list validates its search with `listSearch`.
  const search = useSearch({ strict: false }) as ListSearch
  const trail = useLocation({ select: ({ state }) => state.trail })
  const navigate = useNavigate()

  function go(
    next: ListSearch | ((current: ListSearch) => ListSearch),
    { replace = false, resetScroll = true, state = {} as { trail?: string[] } } = {},
  ) {
    // The search of "this route" cannot be typed here: every list has filters of its own.
    return navigate({ to: '.', search: next as never, replace, resetScroll, state: state as never })
  }

  return {
    search,
    knowsNewer: trail !== undefined && trail.length > 0,
    /** Changes the filters of the URL at that time: a typed search is applied later, when Back may have removed a filter. */
    change: (patch: ListSearch, { replace = false } = {}) => go((current) => changeSearch(current, patch), { replace, resetScroll: false }),
    turnTo: (cursor: string) => go({ ...search, cursor, peek: undefined }, { state: { trail: [...(trail ?? []), search.cursor ?? ''] } }),
    turnBack: () => go({ ...search, cursor: trail?.at(-1) || undefined, peek: undefined }, { state: { trail: trail?.slice(0, -1) ?? [] } }),
    /** The panel is no step in the history of pages: Back leaves the list. */
    peek: (id: string | undefined) => go({ ...search, peek: id }, { replace: true, resetScroll: false, state: { trail } }),
  }
}

/** Calls `apply` 300 ms after the last change of `value`. */
export function useDebounced(value: string, applied: string, apply: (value: string) => void) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new function on every render must not restart the timer
  useEffect(() => {
    if (value === applied) return
    const timer = setTimeout(() => apply(value), 300)
    return () => clearTimeout(timer)
  }, [value])
}
