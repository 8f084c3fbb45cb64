import { SternaError } from '@sterna/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type Reducer, useEffect, useReducer, useRef, useState } from 'react'
import { meQuery } from '../data/account.ts'
import { useProject } from '../projects/current.ts'
import { changeDraft, type DraftAction, type DraftState, isDirty, startDraft } from './draft-state.ts'
import { deleteDraft, readDraft, writeDraft } from './draft-store.ts'

type Saved<V> = { values: V; revision: string }

type DraftOptions<V> = {
  /** Names the thing in the browser's store: `template/<id>`, or `template/new`. */
  name: string
  /** The saved state, and its revision (`updatedAt`). */
  saved: Saved<V>
  /** Sends the values with `If-Match: "<revision>"` and returns the new state. */
  save: (values: V, revision: string) => Promise<Saved<V>>
  /** Fetches the current state, after someone else changed it. */
  reload: () => Promise<Saved<V>>
}

const WRITE_AFTER_MS = 300

/**
 * The values of an editor: kept in the browser until they are saved, offered again after a reload, and compared with what others save.
 * Mount the editor with `key={id}`: a draft belongs to one thing.
 */
export function useDraft<V extends object>({ name, saved, save, reload }: DraftOptions<V>) {
  const project = useProject()
  const userId = useQuery(meQuery).data?.id ?? ''
  const key = `${userId}/${project.id}/${name}`
  const [state, dispatch] = useReducer<DraftState<V>, [DraftAction<V>]>(
    changeDraft as Reducer<DraftState<V>, DraftAction<V>>,
    startDraft(saved.values, saved.revision),
  )
  const [savedAt, setSavedAt] = useState<string>()
  const dirty = isDirty(state)
  useStoredDraft(key, state, dirty, dispatch)

  // biome-ignore lint/correctness/useExhaustiveDependencies: the revision tells when the values are new
  useEffect(() => dispatch({ type: 'fetched', ...saved }), [saved.revision])

  const saving = useMutation({
    mutationFn: (values: V) => save(values, state.revision),
    onSuccess: (result, sent) => {
      dispatch({ type: 'saved', ...result, sent })
      setSavedAt(new Date().toISOString())
    },
    onError: async (error) => {
      if (isConflict(error)) dispatch({ type: 'fetched', ...(await reload()) })
    },
  })

  return {
    values: state.values,
    set: (patch: Partial<V>) => dispatch({ type: 'edited', patch }),
    isDirty: dirty,
    isSaving: saving.isPending,
    savedAt,
    /** The error of the last attempt to save; a conflict is shown as such instead. */
    error: saving.error && !isConflict(saving.error) ? saving.error : null,
    hasConflict: state.theirs !== undefined,
    /** A newer version that somebody else has saved. */
    theirs: state.theirs?.values,
    restoredFrom: state.restoredFrom,
    save: (onSaved?: () => void) => !saving.isPending && saving.mutate(state.values, { ...(onSaved && { onSuccess: onSaved }) }),
    loadTheirs: () => dispatch({ type: 'tookTheirs' }),
    keepMine: () => dispatch({ type: 'keptMine' }),
    discard: () => dispatch({ type: 'discarded' }),
  }
}

export type Draft<V extends object> = ReturnType<typeof useDraft<V>>

const isConflict = (error: Error) => error instanceof SternaError && error.code === 'CONFLICT'

/** Reads the draft once, then writes every change a moment after it, or when the page is left. */
function useStoredDraft<V>(key: string, state: DraftState<V>, dirty: boolean, dispatch: (action: DraftAction<V>) => void) {
  const [isRead, setIsRead] = useState(false)
  const isDirtyNow = useRef(dirty)
  isDirtyNow.current = dirty
  // biome-ignore lint/correctness/useExhaustiveDependencies: dispatch does not change
  useEffect(() => {
    readDraft(key).then((stored) => {
      // Written by this hook for the same editor, so its values have the same type. Text that was typed since is newer.
      if (stored && !isDirtyNow.current)
        dispatch({ type: 'restored', values: stored.values as V, revision: stored.revision, at: stored.at })
      setIsRead(true)
    })
  }, [key])

  const unwritten = useRef<(() => void) | undefined>(undefined)
  useEffect(() => {
    if (!dirty) {
      unwritten.current = undefined
      if (isRead) void deleteDraft(key)
      return
    }
    const at = new Date().toISOString()
    const write = () => {
      unwritten.current = undefined
      void writeDraft(key, { values: state.values, revision: state.revision, at })
    }
    unwritten.current = write
    const timer = setTimeout(write, WRITE_AFTER_MS)
    return () => clearTimeout(timer)
  }, [isRead, key, dirty, state.values, state.revision])
  useEffect(() => () => unwritten.current?.(), [])
}
