import { Extension } from '@tiptap/core'
import { moveBlock } from '../edit/block-commands.ts'
import { blocksAround, chosenBlock } from '../edit/chosen-block.ts'

/** Keys that work on whole blocks. */
export const BlockKeys = Extension.create({
  name: 'blockKeys',
  // Before the keys of lists and texts.
  priority: 200,
  addKeyboardShortcuts() {
    const move = (direction: 'up' | 'down') => () => {
      const { state, view } = this.editor
      const block = chosenBlock(state)
      return block ? moveBlock(direction, state, block, view.dispatch) : false
    }
    return {
      'Alt-ArrowUp': move('up'),
      'Alt-ArrowDown': move('down'),
      // Chooses the block, then the block around it.
      Escape: () => {
        const { state } = this.editor
        const around = blocksAround(state)
        const own = around.at(-1)
        if (!own) return false
        const isChosen = state.selection.from === own.pos
        const next = isChosen ? around.at(-2) : own
        return next ? this.editor.commands.setNodeSelection(next.pos) : false
      },
    }
  },
})
