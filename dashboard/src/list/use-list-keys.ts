import { useShortcuts } from '../ui/shortcuts/shortcuts.ts'
import type { SelectEvent } from '../ui/table/data-table.tsx'
import { countSelected, isSelected, NOTHING } from './selection.ts'
import type { List } from './use-list.ts'

type Abilities = { canSelect: boolean; canPeek: boolean; onSelect: (event: SelectEvent) => void }

/** The keys of a list. The current row is the one whose link has the focus, so that Enter and assistive technology need nothing more. */
export function useListKeys<Row>(list: List<Row>, { canSelect, canPeek, onSelect }: Abilities) {
  function move(step: 1 | -1) {
    const links = [...document.querySelectorAll<HTMLElement>('[data-row-link]')]
    const current = links.indexOf(currentRow()?.querySelector<HTMLElement>('[data-row-link]') ?? document.body)
    const next = links[current < 0 ? (step > 0 ? 0 : links.length - 1) : current + step]
    if (!next) return
    next.focus()
    next.scrollIntoView({ block: 'nearest' })
    if (list.search.peek) list.peek(idOf(next.closest<HTMLElement>('[data-row]')))
  }

  useShortcuts([
    { keys: 'j', label: 'Next row', group: 'List', run: () => move(1) },
    { keys: 'k', label: 'Previous row', group: 'List', run: () => move(-1) },
    {
      keys: 'x',
      ...(canSelect && { label: 'Select the row', group: 'List' }),
      run: (event) => {
        const id = idOf(currentRow())
        if (!canSelect || !id) return false
        onSelect({ row: id, selected: !isSelected(list.selection, id), range: event.shiftKey })
      },
    },
    {
      keys: 'Space',
      ...(canPeek && { label: 'Peek at the row', group: 'List' }),
      run: () => {
        const id = idOf(currentRow())
        // On a checkbox or a button of the row, Space is theirs.
        if (!canPeek || !id || !document.activeElement?.matches('[data-row-link]')) return false
        list.peek(list.search.peek === id ? undefined : id)
      },
    },
    { keys: '.', label: 'Actions of the row', group: 'List', run: openRowMenu },
    { keys: 'Escape', label: 'Close the panel, clear the selection, clear the filters', group: 'List', run: () => stepBack(list) },
  ])
}

const currentRow = () => document.activeElement?.closest<HTMLElement>('[data-row]') ?? null
const idOf = (row: HTMLElement | null) => row?.dataset.row

function openRowMenu() {
  const trigger = currentRow()?.querySelector('[data-row-menu]')
  // Radix opens a menu on a key press, not on click().
  return trigger ? trigger.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })) : false
}

function stepBack<Row>(list: List<Row>) {
  if (list.search.peek) return list.peek(undefined)
  if (countSelected(list.selection, list.total) > 0) return list.setSelection(NOTHING)
  if (!list.isFiltered) return false
  const clear = Object.fromEntries(['q', ...list.filters.map(({ name }) => name)].map((name) => [name, undefined]))
  return list.change(clear)
}
