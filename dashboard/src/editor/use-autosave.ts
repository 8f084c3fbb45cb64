import { useEffect, useRef } from 'react'
import type { Draft } from './use-draft.ts'

const SAVE_AFTER_MS = 800

/** Saves a draft a moment after the last change, and when the page is left, while nothing speaks against it. A refused save waits for the next change. */
export function useAutosave<V extends object>(draft: Draft<V>, problem: string | undefined) {
  const canSave = draft.isDirty && !problem && !draft.hasConflict && !draft.isSaving
  const latest = useRef({ canSave, save: draft.save })
  latest.current = { canSave, save: draft.save }
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new value starts the time again
  useEffect(() => {
    if (!canSave) return
    const timer = setTimeout(() => latest.current.canSave && latest.current.save(), SAVE_AFTER_MS)
    return () => clearTimeout(timer)
  }, [canSave, draft.values])
  useEffect(() => () => void (latest.current.canSave && latest.current.save()), [])
}
