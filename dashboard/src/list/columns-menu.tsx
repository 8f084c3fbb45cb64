import { Columns3 } from 'lucide-react'
import { useState } from 'react'
import { usePreference } from '../session/preferences.ts'
import { Popover } from '../ui/dialog/popover.tsx'
import { Button } from '../ui/form/button.tsx'
import { CheckboxLine } from '../ui/form/checkbox.tsx'
import type { Column } from '../ui/table/data-table.tsx'
import { SearchedList } from '../ui/table/searched-list.tsx'

type Chosen = Record<string, boolean>

/** The columns that this user chose for this list. The first column is always shown: it is the link. */
export function useColumns<Row>(name: string, columns: Column<Row>[]) {
  const [chosen, setChosen] = usePreference<Chosen>(`columns.${name}`, {})
  const [compact, setCompact] = usePreference('compact', false)
  const isShown = (column: Column<Row>) => chosen[column.id] ?? !column.optional
  return {
    shown: columns.filter((column, index) => index === 0 || isShown(column)),
    isShown,
    toggle: (column: Column<Row>) => setChosen({ ...chosen, [column.id]: !isShown(column) }),
    compact,
    setCompact,
  }
}

type ColumnsMenuProps<Row> = { columns: Column<Row>[]; state: ReturnType<typeof useColumns<Row>> }

export function ColumnsMenu<Row>({ columns, state }: ColumnsMenuProps<Row>) {
  return (
    <Popover
      label="Columns"
      align="end"
      trigger={
        <Button size="sm" variant="quiet" className="max-sm:hidden">
          <Columns3 aria-hidden="true" />
          Columns
        </Button>
      }
    >
      <ColumnList columns={columns.slice(1)} state={state} />
      <hr className="-mx-1 my-1 border-line" />
      <CheckboxLine label="Compact rows" checked={state.compact} onChange={() => state.setCompact(!state.compact)} />
    </Popover>
  )
}

const NOUN = { one: 'column', many: 'columns' }

/** Every field of the contacts can be a column: there may be hundreds. */
function ColumnList<Row>({ columns, state }: ColumnsMenuProps<Row>) {
  const [q, setQ] = useState('')
  return (
    <SearchedList items={columns} noun={NOUN} textOf={({ heading }) => heading} q={q} onQuery={setQ} dense>
      {(shown) =>
        shown.map((column) => (
          <CheckboxLine key={column.id} label={column.heading} checked={state.isShown(column)} onChange={() => state.toggle(column)} />
        ))
      }
    </SearchedList>
  )
}
