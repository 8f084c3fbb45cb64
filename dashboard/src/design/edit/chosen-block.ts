import type { Node } from '@tiptap/pm/model'
import { type EditorState, NodeSelection } from '@tiptap/pm/state'

export type PlacedBlock = { pos: number; node: Node }

/** Whether a node is a block of the design, not a part of one such as a column or the text of a list item. */
export const isBlock = (node: Node, parent: Node | null | undefined) => node.type.isInGroup('block') && parent?.type.name !== 'listItem'

/** The blocks that hold the selection, the outermost first. */
export function blocksAround({ selection }: EditorState): PlacedBlock[] {
  const { $from } = selection
  const around: PlacedBlock[] = []
  for (let depth = 1; depth <= $from.depth; depth++) {
    const node = $from.node(depth)
    if (isBlock(node, $from.node(depth - 1))) around.push({ pos: $from.before(depth), node })
  }
  if (selection instanceof NodeSelection && isBlock(selection.node, $from.parent))
    around.push({ pos: selection.from, node: selection.node })
  return around
}

/** The innermost block at the selection. */
export const chosenBlock = (state: EditorState): PlacedBlock | undefined => blocksAround(state).at(-1)

/** The variable that is selected, if one is. */
export function chosenVariable({ selection }: EditorState): PlacedBlock | undefined {
  if (!(selection instanceof NodeSelection) || selection.node.type.name !== 'variable') return undefined
  return { pos: selection.from, node: selection.node }
}

export function blockWithId(doc: Node, id: string): PlacedBlock | undefined {
  let found: PlacedBlock | undefined
  doc.descendants((node, pos) => {
    if (!found && node.attrs.id === id) found = { pos, node }
    return !found && !node.isTextblock
  })
  return found
}
