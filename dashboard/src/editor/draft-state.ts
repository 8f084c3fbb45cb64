/**
 * The state of an editor. `base` is the saved state that the values started from; `theirs` is a newer one that
 * someone else has saved since.
 */
export type DraftState<V> = {
  base: V
  /** The revision of `base`, sent as `If-Match`. */
  revision: string
  values: V
  theirs?: { values: V; revision: string }
  /** When the restored work was last changed; undefined if nothing was restored. */
  restoredFrom?: string
}

export type DraftAction<V> =
  | { type: 'edited'; patch: Partial<V> }
  | { type: 'restored'; values: V; revision: string; at: string }
  | { type: 'fetched'; values: V; revision: string }
  | { type: 'saved'; values: V; revision: string; sent: V }
  | { type: 'tookTheirs' }
  | { type: 'keptMine' }
  | { type: 'discarded' }

export const startDraft = <V>(values: V, revision: string): DraftState<V> => ({ base: values, revision, values })

export const isDirty = <V>({ base, values }: DraftState<V>) => !isEqual(base, values)

export function changeDraft<V>(state: DraftState<V>, action: DraftAction<V>): DraftState<V> {
  switch (action.type) {
    case 'edited':
      return { ...state, values: { ...state.values, ...action.patch } }
    case 'restored':
      return restore(state, action)
    case 'fetched':
      return receive(state, action)
    case 'saved':
      return settle(state, action)
    case 'tookTheirs':
      return state.theirs ? startDraft(state.theirs.values, state.theirs.revision) : state
    case 'keptMine':
      // Saving again now replaces their version, on purpose.
      return state.theirs ? { base: state.theirs.values, revision: state.theirs.revision, values: state.values } : state
    case 'discarded':
      return startDraft(state.base, state.revision)
  }
}

/** Restored work that was begun on an older revision conflicts at once. */
function restore<V>(state: DraftState<V>, { values, revision, at }: { values: V; revision: string; at: string }): DraftState<V> {
  if (isEqual(values, state.base)) return state
  const isOutdated = revision !== state.revision
  const theirs = { values: state.base, revision: state.revision }
  return { ...state, values, restoredFrom: at, ...(isOutdated && { theirs }) }
}

/** A clean editor follows the server; a changed one keeps its values and shows the conflict. */
function receive<V>(state: DraftState<V>, { values, revision }: { values: V; revision: string }): DraftState<V> {
  if (revision === state.revision || revision === state.theirs?.revision) return state
  if (!isDirty(state)) return startDraft(values, revision)
  return { ...state, theirs: { values, revision } }
}

/** Text that was typed during the request stays, and is not saved yet. */
function settle<V>(state: DraftState<V>, { values, revision, sent }: { values: V; revision: string; sent: V }): DraftState<V> {
  const changedMeanwhile = !isEqual(state.values, sent)
  return { base: values, revision, values: changedMeanwhile ? state.values : values }
}

function isEqual(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}
