import { ArrowUp, CodeXml, SearchX } from 'lucide-react'
import type { ReactNode } from 'react'
import { PeekPanel } from '../ui/dialog/peek-panel.tsx'
import { Popover } from '../ui/dialog/popover.tsx'
import { Button } from '../ui/form/button.tsx'
import { EmptyState } from '../ui/page/empty-state.tsx'
import { ErrorState } from '../ui/page/error-state.tsx'
import { PageHeader } from '../ui/page/page.tsx'
import { useIsSlow } from '../ui/page/use-is-slow.ts'
import { type Column, DataTable, type SelectEvent } from '../ui/table/data-table.tsx'
import { CodeBlock } from '../ui/text/copy-field.tsx'
import { Count, countOf, type Noun } from '../ui/text/count.tsx'
import { ColumnsMenu, useColumns } from './columns-menu.tsx'
import { FilterBar } from './filter-bar.tsx'
import { nextSort } from './list-search.ts'
import { Pager } from './pager.tsx'
import { between, countSelected, isSelected, NOTHING, type Selection, select, selectAll } from './selection.ts'
import type { List } from './use-list.ts'
import { useListKeys } from './use-list-keys.ts'

type ListPageProps<Row> = {
  title: string
  /** Link to the page above, shown before the title. */
  parent?: ReactNode
  noun: Noun
  list: List<Row>
  columns: Column<Row>[]
  rowLabel: (row: Row) => string
  /** The path of the page of a row. Without it a row opens as a panel. */
  rowPath?: (row: Row) => string
  /** The content of the panel of a row. The row is undefined if it is not on this page. */
  peek?: (id: string, row: Row | undefined) => ReactNode
  /** Menu items of a row. */
  rowMenu?: (row: Row) => ReactNode
  /** Buttons for the selected rows. With it, rows can be selected. */
  bulk?: (selection: Selection, count: number) => ReactNode
  /** At most one primary button. */
  actions?: ReactNode
  /** Shown instead of the list when it is empty and nothing is filtered. */
  firstRun: ReactNode
  /** The placeholder of the search field; without it there is none. */
  searchHint?: string
  /** The order of the server when the URL names none. */
  defaultSort?: { sort: string; dir: 'asc' | 'desc' }
  byTime?: boolean
  /** The API call behind this page. */
  call?: string
  /** Beside the filters, while any is set. */
  whenFiltered?: ReactNode
  /** Below the header: tabs, figures. */
  above?: ReactNode
  /** Beside the rows on large screens. */
  aside?: ReactNode
}

/** The one list page: search, filters, order, columns, pages, selection, panel and all its states. */
export function ListPage<Row>(props: ListPageProps<Row>) {
  const { title, parent, list, columns, actions, firstRun, call, above, aside } = props
  const state = useColumns(list.name, columns)
  const isFirstRun = list.rows?.length === 0 && !list.isFiltered && list.isFirstPage && !list.isStale
  return (
    <>
      <PageHeader
        title={title}
        parent={parent}
        count={list.rows && <Count value={list.total} about={list.isEstimate} />}
        actions={
          <>
            {call && <ApiCall code={call} />}
            {/* Hidden, not removed: its dialog may be open when the first answer arrives. */}
            <div className={isFirstRun ? 'hidden' : 'contents'}>{actions}</div>
          </>
        }
      />
      {above}
      {isFirstRun ? (
        <div className="max-w-4xl px-4 py-6 sm:px-6 lg:px-8">{firstRun}</div>
      ) : (
        <div className={`max-w-[1440px] ${aside ? 'lg:grid lg:grid-cols-[15rem_minmax(0,1fr)]' : ''}`}>
          {aside}
          <div className="min-w-0">
            <Toolbar {...props} state={state} />
            <Rows {...props} state={state} />
          </div>
        </div>
      )}
    </>
  )
}

type Parts<Row> = ListPageProps<Row> & { state: ReturnType<typeof useColumns<Row>> }

function Toolbar<Row>({ list, noun, bulk, columns, searchHint, whenFiltered, state }: Parts<Row>) {
  const selected = countSelected(list.selection, list.total)
  if (bulk && selected > 0) {
    return (
      <SelectionBar list={list} noun={noun} selected={selected}>
        {bulk(list.selection, selected)}
      </SelectionBar>
    )
  }
  return (
    <div className="flex min-h-14 flex-wrap items-center gap-2 px-4 py-2 sm:px-6 lg:px-8">
      <FilterBar filters={list.filters} request={list.request} change={list.change} {...(searchHint && { searchHint })} />
      {list.newCount > 0 && (
        <Button size="sm" onClick={list.showNew}>
          <ArrowUp aria-hidden="true" />
          {list.newCount} new
        </Button>
      )}
      {list.isFiltered && whenFiltered}
      <ColumnsMenu columns={columns} state={state} />
    </div>
  )
}

type SelectionBarProps<Row> = { list: List<Row>; noun: Noun; selected: number; children: ReactNode }

/** Replaces the toolbar while rows are selected. */
function SelectionBar<Row>({ list, noun, selected, children }: SelectionBarProps<Row>) {
  const isWholePage = list.rows?.every((row) => isSelected(list.selection, list.rowId(row))) ?? false
  const offersAll = list.selection.kind === 'ids' && isWholePage && list.total > selected
  return (
    <section aria-label="Selection" className="flex min-h-14 flex-wrap items-center gap-2 bg-accent-soft px-4 py-2 sm:px-6 lg:px-8">
      <p className="mr-2 font-medium text-ui" role="status">
        {countOf(selected, noun, list.selection.kind === 'all' && list.isEstimate)} selected
      </p>
      {offersAll && (
        <button type="button" className="link text-ui" onClick={() => list.setSelection(selectAll())}>
          Select all <Count value={list.total} about={list.isEstimate} /> that match
        </button>
      )}
      <div className="flex flex-wrap items-center gap-2 sm:ml-auto">
        {children}
        <Button size="sm" variant="quiet" onClick={() => list.setSelection(NOTHING)} title="Clear the selection (Esc)">
          Clear
        </Button>
      </div>
    </section>
  )
}

function Rows<Row>(props: Parts<Row>) {
  const { list, noun, title, rowLabel, rowPath, rowMenu, peek, bulk, state, defaultSort, byTime } = props
  const peeked = list.search.peek
  const onSelect = useRowSelection(list)
  useListKeys(list, { canSelect: bulk !== undefined, canPeek: peek !== undefined, onSelect })

  if (list.error && !list.rows) return <LoadError list={list} />
  if (list.rows?.length === 0) return <NoMatch list={list} noun={noun} />
  const sort = list.request.sort ? list.request : defaultSort
  const peekedRow = list.rows?.find((row) => list.rowId(row) === peeked)
  return (
    <>
      <Table
        list={list}
        table={
          <DataTable
            caption={title}
            columns={state.shown}
            compact={state.compact}
            rows={list.rows}
            rowId={list.rowId}
            rowLabel={rowLabel}
            stale={list.isStale}
            {...(rowPath && { rowPath })}
            {...(rowMenu && { rowMenu })}
            {...(sort && { sort })}
            onSort={(column) => list.change(nextSort(sort ?? {}, column.sort!, column.firstDir))}
            {...(bulk && {
              selection: {
                has: (id: string) => isSelected(list.selection, id),
                onSelect,
                onSelectPage: (selected: boolean) => list.setSelection(select(list.selection, (list.rows ?? []).map(list.rowId), selected)),
              },
            })}
            {...(peeked && { peeked })}
            {...(peek && { onPeek: list.peek })}
          />
        }
      />
      <Pager
        isFirstPage={list.isFirstPage}
        knowsNewer={list.knowsNewer}
        hasMore={list.hasMore}
        size={list.request.limit}
        onNewer={list.newer}
        onOlder={list.older}
        onSize={list.setSize}
        {...(byTime !== undefined && { byTime })}
      />
      {peek && peeked && (
        <PeekPanel title={peekedRow ? rowLabel(peekedRow) : capitalized(noun.one)} onClose={() => list.peek(undefined)}>
          {peek(peeked, peekedRow)}
        </PeekPanel>
      )}
    </>
  )
}

const capitalized = (text: string) => text[0]!.toUpperCase() + text.slice(1)

/** Nothing for the first 150 ms: a skeleton that appears for a moment only flickers. */
function Table<Row>({ list, table }: { list: List<Row>; table: ReactNode }) {
  return list.isPending ? <Slowly>{table}</Slowly> : table
}

function Slowly({ children }: { children: ReactNode }) {
  const isSlow = useIsSlow()
  return (
    <div className="min-h-[31rem]">
      <p className="sr-only" role="status">
        Loading…
      </p>
      {isSlow && children}
    </div>
  )
}

/** A click selects one row, a click with Shift all rows from the last one on. */
function useRowSelection<Row>(list: List<Row>) {
  return ({ row, selected, range }: SelectEvent) => {
    const ids = (list.rows ?? []).map(list.rowId)
    list.setSelection(select(list.selection, range ? between(ids, lastSelected, row) : [row], selected))
    lastSelected = row
  }
}

/** Row that was selected last, in the list on screen. A page has only one list. */
let lastSelected: string | undefined

function LoadError<Row>({ list }: { list: List<Row> }) {
  return (
    <>
      <ErrorState title="Could not load this list" error={list.error} retry={list.retry} />
      {!list.isFirstPage && (
        <p className="text-center text-ui">
          {/* A cursor belongs to its filters and its order: an edited or very old link no longer works. */}
          <button type="button" className="link" onClick={() => list.change({})}>
            Go to the first page
          </button>
        </p>
      )}
    </>
  )
}

function NoMatch<Row>({ list, noun }: { list: List<Row>; noun: Noun }) {
  const clear = Object.fromEntries(['q', ...list.filters.map(({ name }) => name)].map((name) => [name, undefined]))
  return (
    <div className="px-4 py-6 sm:px-6 lg:px-8">
      {list.isFiltered ? (
        <EmptyState
          icon={SearchX}
          title="Nothing matches these filters"
          action={<Button onClick={() => list.change(clear)}>Clear filters</Button>}
        >
          There may be {noun.many} that match other filters.
        </EmptyState>
      ) : (
        <EmptyState
          icon={SearchX}
          title="This page is empty"
          action={<Button onClick={() => list.change({})}>Go to the first page</Button>}
        >
          Its {noun.many} were deleted.
        </EmptyState>
      )}
    </div>
  )
}

/** Rule: the API call behind a page is one click away. */
function ApiCall({ code }: { code: string }) {
  return (
    <Popover
      wide
      align="end"
      label="API call"
      trigger={
        <Button size="sm" variant="quiet" aria-label="Show the API call" title="Show the API call">
          <CodeXml aria-hidden="true" />
        </Button>
      }
    >
      <CodeBlock title="The same by the API" label="API call" code={code} />
    </Popover>
  )
}
