import type { Editor } from '@tiptap/core'
import type { EditorState } from '@tiptap/pm/state'
import { useCallback, useRef, useSyncExternalStore } from 'react'

/** A value of the editor's state. The component renders again only when the value changes, not with every key. */
export function useEditorValue<Value>(editor: Editor, read: (state: EditorState) => Value): Value {
  const subscribe = useCallback(
    (listener: () => void) => {
      editor.on('transaction', listener)
      return () => void editor.off('transaction', listener)
    },
    [editor],
  )
  const last = useRef<{ value: Value; json: string }>(undefined)
  return useSyncExternalStore(subscribe, () => {
    const value = read(editor.state)
    const json = JSON.stringify(value) ?? ''
    if (last.current?.json !== json) last.current = { value, json }
    return last.current.value
  })
}
