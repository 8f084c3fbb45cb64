import { NodeSelection, TextSelection } from '@tiptap/pm/state'
import type { EditorView } from '@tiptap/pm/view'

/**
 * A click where the caret was before a block was chosen in the list moves no caret of the browser, so the editor does not notice it: the block
 * would stay selected, and the next key would replace it.
 */
export function clickIntoText({ state, dispatch }: EditorView, pos: number) {
  const { selection, doc } = state
  const isOutside = pos < selection.from || pos > selection.to
  if (selection instanceof NodeSelection && isOutside && doc.resolve(pos).parent.inlineContent)
    dispatch(state.tr.setSelection(TextSelection.create(doc, pos)))
  return false
}
