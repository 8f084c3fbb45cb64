/** Chosen rows: by id, or everything that matches the filters but a few. It outlives a change of page, not one of filters. */
export type Selection = { kind: 'ids'; ids: ReadonlySet<string> } | { kind: 'all'; except: ReadonlySet<string> }

export const NOTHING: Selection = { kind: 'ids', ids: new Set() }

/** A bulk request takes at most this many ids; beyond it a user selects all that match. */
export const MAX_IDS = 1_000

export const isSelected = (selection: Selection, id: string) =>
  selection.kind === 'ids' ? selection.ids.has(id) : !selection.except.has(id)

export const countSelected = (selection: Selection, total: number) =>
  selection.kind === 'ids' ? selection.ids.size : Math.max(0, total - selection.except.size)

/** Selects or deselects rows; ids beyond the maximum are left out. */
export function select(selection: Selection, ids: string[], selected: boolean): Selection {
  if (selection.kind === 'all') return { kind: 'all', except: change(selection.except, ids, !selected) }
  return { kind: 'ids', ids: change(selection.ids, ids, selected) }
}

function change(set: ReadonlySet<string>, ids: string[], add: boolean): ReadonlySet<string> {
  const next = new Set(set)
  for (const id of ids) {
    if (!add) next.delete(id)
    else if (next.size < MAX_IDS) next.add(id)
  }
  return next
}

export const selectAll = (): Selection => ({ kind: 'all', except: new Set() })

/** The rows between two rows of a page, both included: a click with Shift. Without a first row only the second. */
export function between(ids: string[], from: string | undefined, to: string): string[] {
  const [a, b] = [from === undefined ? -1 : ids.indexOf(from), ids.indexOf(to)]
  if (a < 0 || b < 0) return [to]
  return ids.slice(Math.min(a, b), Math.max(a, b) + 1)
}
