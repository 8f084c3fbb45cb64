import { Search } from 'lucide-react'
import type { ReactNode } from 'react'
import { formatCount, type Noun } from '../text/count.tsx'
import { boundList, MAX_ROWS } from './bounded-list.ts'

/** Fewer items need no search. */
const SEARCH_FROM = 20

type SearchedListProps<Item> = {
  items: Item[]
  noun: Noun
  textOf: (item: Item) => string
  /** From the URL. */
  q: string
  onQuery: (q: string) => void
  max?: number
  /** In a small panel. */
  dense?: boolean
  children: (shown: Item[]) => ReactNode
}

/** A list that the API returns as a whole: bounded, and with a search once it is long. */
export function SearchedList<Item>(props: SearchedListProps<Item>) {
  const { items, noun, textOf, q, onQuery, max = MAX_ROWS, dense = false, children } = props
  const { shown, found } = boundList(items, q, textOf, max)
  return (
    <div className={dense ? 'space-y-1' : 'space-y-4'}>
      {(items.length >= SEARCH_FROM || q !== '') && <SearchInput label={`Search ${noun.many}`} q={q} onQuery={onQuery} wide={dense} />}
      {shown.length > 0 && children(shown)}
      <p role="status" className={`text-muted empty:hidden ${dense ? 'px-2 py-1 text-xs' : 'text-ui'}`}>
        {found === 0 && `No ${noun.one} matches.`}
        {found > shown.length && `The first ${formatCount(shown.length)} of ${formatCount(found)} ${noun.many}. Search to find others.`}
      </p>
    </div>
  )
}

type SearchInputProps = { label: string; q: string; onQuery: (q: string) => void; wide: boolean }

function SearchInput({ label, q, onQuery, wide }: SearchInputProps) {
  return (
    <div className={`relative w-full ${wide ? '' : 'sm:w-64'}`}>
      <Search className="pointer-events-none absolute top-1/2 left-2.5 size-4 -translate-y-1/2 text-muted" aria-hidden="true" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={q}
        onChange={(event) => onQuery(event.target.value)}
        className="h-8 w-full rounded-md border border-edge bg-surface pr-2 pl-8 text-base placeholder:text-muted focus-visible:outline-offset-0 pointer-coarse:h-11 sm:text-ui"
      />
    </div>
  )
}
