import { Link } from '@tanstack/react-router'
import { ArrowDown, ArrowUp, Ellipsis, PanelRight } from 'lucide-react'
import type { MouseEvent, ReactNode } from 'react'
import { Menu } from '../dialog/menu.tsx'
import { Checkbox } from '../form/checkbox.tsx'
import { Skeleton } from '../page/skeleton.tsx'

export type Column<Row> = {
  id: string
  heading: string
  cell: (row: Row) => ReactNode
  /** The name of this order in the API. The heading becomes a button. */
  sort?: string
  /** The direction of the first click: `desc` for times and numbers. */
  firstDir?: 'asc' | 'desc'
  numeric?: boolean
  /** A Tailwind width, such as `w-32`. The first column takes what is left. */
  width?: string
  /** Shown only from this width of the screen on. */
  from?: keyof typeof FROM
  /** Hidden until the user chooses it in the columns menu. */
  optional?: boolean
}

const FROM = { sm: 'max-sm:hidden', md: 'max-md:hidden', lg: 'max-lg:hidden', xl: 'max-xl:hidden' }

export type SelectEvent = { row: string; selected: boolean; range: boolean }

type DataTableProps<Row> = {
  caption: string
  columns: Column<Row>[]
  /** Undefined while the first rows load. */
  rows: Row[] | undefined
  rowId: (row: Row) => string
  rowLabel: (row: Row) => string
  /** The path of the page of a row; without it the row opens as a panel. */
  rowPath?: (row: Row) => string
  sort?: { sort?: string | undefined; dir?: string | undefined }
  onSort?: (column: Column<Row>) => void
  selection?: { has: (id: string) => boolean; onSelect: (event: SelectEvent) => void; onSelectPage: (selected: boolean) => void }
  rowMenu?: (row: Row) => ReactNode
  peeked?: string
  onPeek?: (id: string) => void
  /** The rows are those of the previous request. */
  stale?: boolean
  compact?: boolean
  skeletonRows?: number
}

/**
 * The rows of a list. The link of the first column covers its row, so that a middle click works everywhere; other controls lie above it.
 * On a phone a row has two lines: the first column, and the columns without `from` below it.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { caption, columns, rows, rowId, sort, onSort, selection, rowMenu, onPeek, stale = false, skeletonRows = 12 } = props
  const chosen = rows?.filter((row) => selection?.has(rowId(row))).length ?? 0
  const hasActions = Boolean(rowMenu || onPeek)
  return (
    <table
      className={`w-full border-line border-y bg-surface table-fixed text-left text-ui transition-opacity max-sm:block ${stale ? 'opacity-60' : ''}`}
      aria-busy={stale || !rows}
    >
      <caption className="sr-only">{caption}</caption>
      <thead className="sticky top-0 z-10 bg-surface max-sm:sr-only lg:top-14">
        <tr className="border-line border-b text-muted text-xs">
          {selection && (
            <th scope="col" className="w-10 pl-4 sm:pl-6 lg:w-14 lg:pl-8">
              <Checkbox
                label="Select this page"
                className="block"
                checked={chosen > 0 && chosen === rows?.length}
                mixed={chosen > 0 && chosen !== rows?.length}
                disabled={!rows?.length}
                onChange={(event) => selection.onSelectPage(event.target.checked)}
              />
            </th>
          )}
          {columns.map((column) => (
            <Heading key={column.id} column={column} sort={sort} onSort={onSort} />
          ))}
          {hasActions && (
            <th scope="col" className="w-20 pr-4 pointer-coarse:w-28 lg:w-24 lg:pr-8 lg:pointer-coarse:w-32">
              <span className="sr-only">Actions</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody className="max-sm:block">
        {rows
          ? rows.map((row) => <DataRow key={rowId(row)} row={row} {...props} />)
          : SKELETON_ROWS.slice(0, skeletonRows).map((index) => (
              <SkeletonRow
                key={index}
                columns={columns}
                hasSelection={Boolean(selection)}
                hasActions={hasActions}
                compact={props.compact}
              />
            ))}
      </tbody>
    </table>
  )
}

const SKELETON_ROWS = Array.from({ length: 25 }, (_, index) => index)

const hiding = ({ from }: { from?: keyof typeof FROM }) => (from ? FROM[from] : '')

type HeadingProps<Row> = { column: Column<Row> } & Pick<DataTableProps<Row>, 'sort' | 'onSort'>

function Heading<Row>({ column, sort, onSort }: HeadingProps<Row>) {
  const isSorted = column.sort !== undefined && sort?.sort === column.sort
  const Arrow = sort?.dir === 'asc' ? ArrowUp : ArrowDown
  return (
    <th
      scope="col"
      aria-sort={isSorted ? (sort?.dir === 'asc' ? 'ascending' : 'descending') : undefined}
      className={`h-9 px-3 font-medium first:pl-4 last:pr-4 sm:first:pl-6 sm:last:pr-6 lg:first:pl-8 lg:last:pr-8 ${column.numeric ? 'text-right' : ''} ${column.width ?? ''} ${hiding(column)}`}
    >
      {column.sort && onSort ? (
        <button
          type="button"
          onClick={() => onSort(column)}
          className="inline-flex max-w-full items-center gap-1 rounded-sm hover:text-ink"
        >
          <span className="truncate">{column.heading}</span>
          {isSorted && <Arrow className="size-3 shrink-0" aria-hidden="true" />}
        </button>
      ) : (
        <span className="block truncate">{column.heading}</span>
      )}
    </th>
  )
}

const CELL = 'truncate px-3 sm:first:pl-6 sm:last:pr-6 lg:first:pl-8 lg:last:pr-8 max-sm:px-0'

/** On a phone the first column shares its line with the checkbox and the menu only: anything else would be behind the menu. */
const BESIDE_BOTH = 'max-sm:basis-[calc(100%-5.5rem)]'
const BESIDE_MENU = 'max-sm:basis-[calc(100%-3.75rem)]'

function DataRow<Row>({
  row,
  columns,
  rowId,
  rowLabel,
  rowPath,
  selection,
  rowMenu,
  peeked,
  onPeek,
  compact = false,
}: DataTableProps<Row> & { row: Row }) {
  const id = rowId(row)
  const isSelected = selection?.has(id) ?? false
  return (
    <tr
      data-row={id}
      className={`group/row relative border-line border-b hover:bg-sunken/70 has-[[data-row-link]:focus-visible]:bg-sunken max-sm:flex max-sm:flex-wrap max-sm:items-center max-sm:gap-x-3 max-sm:px-4 max-sm:py-2 ${compact ? 'sm:h-8' : 'sm:h-10'} ${isSelected || peeked === id ? 'bg-accent-soft/60' : ''}`}
    >
      {selection && (
        <td className="max-sm:w-auto sm:pl-6 lg:pl-8">
          <Checkbox
            label={`Select ${rowLabel(row)}`}
            className="relative z-10 block"
            checked={isSelected}
            onChange={() => {}}
            onClick={(event: MouseEvent) => selection.onSelect({ row: id, selected: !isSelected, range: event.shiftKey })}
          />
        </td>
      )}
      {columns.map((column, index) =>
        index === 0 ? (
          <td key={column.id} className={`${CELL} font-medium max-sm:min-w-0 max-sm:flex-1 ${selection ? BESIDE_BOTH : BESIDE_MENU}`}>
            <RowLink path={rowPath?.(row)} onPeek={() => onPeek?.(id)}>
              {column.cell(row)}
            </RowLink>
          </td>
        ) : (
          <td
            key={column.id}
            className={`${CELL} max-sm:order-last max-sm:text-muted max-sm:text-xs ${column.numeric ? 'text-right tabular-nums max-sm:text-left' : ''} ${hiding(column)}`}
          >
            {column.cell(row)}
          </td>
        ),
      )}
      {(rowMenu || onPeek) && (
        <td className="text-right max-sm:-my-2 sm:pr-4 lg:pr-7">
          <span className="relative z-10 inline-flex opacity-0 focus-within:opacity-100 group-hover/row:opacity-100 pointer-coarse:opacity-100 has-data-[state=open]:opacity-100">
            {onPeek && rowPath && (
              <button
                type="button"
                aria-label={`Peek at ${rowLabel(row)}`}
                title="Peek (Space)"
                onClick={() => onPeek(id)}
                className={`${ROW_BUTTON} max-sm:hidden`}
              >
                <PanelRight aria-hidden="true" />
              </button>
            )}
            {rowMenu && (
              <Menu
                align="end"
                trigger={
                  <button
                    type="button"
                    data-row-menu
                    aria-label={`Actions for ${rowLabel(row)}`}
                    title="Actions (.)"
                    className={ROW_BUTTON}
                  >
                    <Ellipsis aria-hidden="true" />
                  </button>
                }
              >
                {rowMenu(row)}
              </Menu>
            )}
          </span>
        </td>
      )}
    </tr>
  )
}

const ROW_BUTTON =
  'inline-flex size-7 items-center justify-center rounded-md text-muted hover:bg-line/70 hover:text-ink pointer-coarse:size-11 [&>svg]:size-4'
const ROW_LINK =
  'block min-h-6 w-full truncate text-left outline-none after:absolute after:inset-0 focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent'

function RowLink({ path, onPeek, children }: { path: string | undefined; onPeek: () => void; children: ReactNode }) {
  return path ? (
    <Link to={path} data-row-link className={ROW_LINK}>
      {children}
    </Link>
  ) : (
    <button type="button" data-row-link className={ROW_LINK} onClick={onPeek}>
      {children}
    </button>
  )
}

type SkeletonRowProps<Row> = { columns: Column<Row>[]; hasSelection: boolean; hasActions: boolean; compact?: boolean | undefined }

function SkeletonRow<Row>({ columns, hasSelection, hasActions, compact = false }: SkeletonRowProps<Row>) {
  return (
    <tr className={`border-line border-b max-sm:block max-sm:h-14 max-sm:px-4 max-sm:py-3 ${compact ? 'sm:h-8' : 'sm:h-10'}`}>
      {hasSelection && <td className="max-sm:hidden" />}
      {columns.map((column, index) => (
        <td key={column.id} className={`${CELL} ${index > 0 ? 'max-sm:hidden' : ''} ${hiding(column)}`}>
          <Skeleton className={`h-3 ${index === 0 ? 'w-3/5' : 'w-4/5'}`} />
        </td>
      ))}
      {hasActions && <td className="max-sm:hidden" />}
    </tr>
  )
}
