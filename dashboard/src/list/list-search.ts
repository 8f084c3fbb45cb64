import { type Search, text } from '../ui/page/search.ts'

/** The state of a list, all of it in the URL. Filters are parameters of their own. */
export type ListSearch = {
  q?: string
  sort?: string
  dir?: string
  size?: string
  cursor?: string
  peek?: string
  [filter: string]: string | undefined
}

const COMMON = ['q', 'sort', 'dir', 'size', 'cursor', 'peek']

/** `validateSearch` of the route of a list, with the names of its filters. */
export const listSearch =
  (...filters: string[]) =>
  (search: Search): ListSearch =>
    Object.fromEntries([...COMMON, ...filters].flatMap((name) => (text(search[name]) ? [[name, text(search[name])]] : [])))

export const SIZES = [25, 50, 100]

export type ListRequest = {
  q?: string
  sort?: string
  dir?: 'asc' | 'desc'
  limit: number
  cursor?: string
  /** The filters that are set, by name. */
  filters: Record<string, string>
}

type Defaults = { filters: string[]; size: number }

/** The request for the page of the list that the URL names. */
export function readRequest({ q, sort, dir, size, cursor, ...rest }: ListSearch, { filters, size: usual }: Defaults): ListRequest {
  const limit = SIZES.includes(Number(size)) ? Number(size) : usual
  const set = filters.flatMap((name) => (rest[name] ? [[name, rest[name]] as const] : []))
  return {
    limit,
    filters: Object.fromEntries(set),
    ...(q && { q }),
    ...(sort && { sort }),
    ...((dir === 'asc' || dir === 'desc') && { dir }),
    ...(cursor && { cursor }),
  }
}

export const isFiltered = ({ q, filters }: ListRequest) => q !== undefined || Object.keys(filters).length > 0

/** A change of filter, order or size starts again at the first page, and closes the panel. */
export function changeSearch(search: ListSearch, patch: ListSearch): ListSearch {
  const { cursor: _, peek: __, ...rest } = search
  const next = { ...rest, ...patch }
  return Object.fromEntries(Object.entries(next).filter(([, value]) => value))
}

/** A click on the heading of a column: its usual direction first, then the other. */
export function nextSort(current: { sort?: string; dir?: string }, sort: string, first: 'asc' | 'desc' = 'asc') {
  if (current.sort !== sort) return { sort, dir: first }
  return { sort, dir: current.dir === 'asc' ? 'desc' : 'asc' }
}
