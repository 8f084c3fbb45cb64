import { closeHistory } from '@tiptap/pm/history'
import { Fragment, type Node } from '@tiptap/pm/model'
import { type EditorState, NodeSelection, Selection, TextSelection, type Transaction } from '@tiptap/pm/state'
import type { PlacedBlock } from './chosen-block.ts'

type Dispatch = (tr: Transaction) => void

// Moves, copies and deletions are undone one by one: `closeHistory` keeps the history from joining those within half a second.

/** The nodes beside a block, in its parent. */
function siblingsOf({ doc }: EditorState, pos: number) {
  const $pos = doc.resolve(pos)
  const { parent } = $pos
  const index = $pos.index()
  return { parent, index, before: parent.maybeChild(index - 1), after: parent.maybeChild(index + 1) }
}

/** Where a block can go: past its neighbour, or nowhere. */
export function canMove(state: EditorState, { pos }: PlacedBlock, direction: 'up' | 'down'): boolean {
  const { before, after } = siblingsOf(state, pos)
  return Boolean(direction === 'up' ? before : after)
}

/** Swaps a block with the one before or after it. The cursor moves with it. */
export function moveBlock(direction: 'up' | 'down', state: EditorState, { pos, node }: PlacedBlock, dispatch: Dispatch): boolean {
  const { before, after } = siblingsOf(state, pos)
  const neighbour = direction === 'up' ? before : after
  if (!neighbour) return false
  const from = direction === 'up' ? pos - neighbour.nodeSize : pos
  const to = from + node.nodeSize + neighbour.nodeSize
  const swapped = direction === 'up' ? [node, neighbour] : [neighbour, node]
  const moved = direction === 'up' ? from : from + neighbour.nodeSize
  const tr = state.tr.replaceWith(from, to, Fragment.from(swapped))
  const { selection } = state
  const isInside = selection.from >= pos && selection.to <= pos + node.nodeSize
  const shifted = (at: number) => tr.doc.resolve(at - pos + moved)
  if (selection instanceof NodeSelection && selection.from === pos) tr.setSelection(NodeSelection.create(tr.doc, moved))
  else if (isInside) tr.setSelection(TextSelection.between(shifted(selection.anchor), shifted(selection.head)))
  else tr.setSelection(NodeSelection.create(tr.doc, moved))
  dispatch(closeHistory(tr.scrollIntoView()))
  return true
}

/** Puts a copy below. `BlockIds` gives it ids of its own. */
export function duplicateBlock(state: EditorState, { pos, node }: PlacedBlock, dispatch: Dispatch): boolean {
  const after = pos + node.nodeSize
  const tr = state.tr.insert(after, node)
  dispatch(closeHistory(tr.setSelection(NodeSelection.create(tr.doc, after)).scrollIntoView()))
  return true
}

/** Removes a block. The last one of its parent leaves an empty text. */
export function deleteBlock(state: EditorState, { pos, node }: PlacedBlock, dispatch: Dispatch): boolean {
  const { parent } = siblingsOf(state, pos)
  const paragraph = state.schema.nodes.paragraph!.create()
  const tr = parent.childCount === 1 ? state.tr.replaceWith(pos, pos + node.nodeSize, paragraph) : state.tr.delete(pos, pos + node.nodeSize)
  dispatch(closeHistory(tr.setSelection(Selection.near(tr.doc.resolve(Math.min(pos, tr.doc.content.size)))).scrollIntoView()))
  return true
}

/** Changes attributes of a block, or of a variable. */
export function changeAttrs(state: EditorState, pos: number, patch: Record<string, unknown>, dispatch: Dispatch): boolean {
  const node = state.doc.nodeAt(pos)
  if (!node) return false
  const { tr } = state
  tr.setNodeMarkup(pos, undefined, { ...node.attrs, ...patch })
  // Replacing the node of a node selection would end it.
  if (state.selection instanceof NodeSelection && state.selection.from === pos) tr.setSelection(NodeSelection.create(tr.doc, pos))
  dispatch(tr)
  return true
}

/** Inserts a block below the chosen one, or in the place of an empty text. The cursor goes into it. */
export function insertBlock(state: EditorState, block: Node, chosen: PlacedBlock | undefined, dispatch: Dispatch): boolean {
  const isEmptyText = chosen?.node.type.name === 'paragraph' && chosen.node.childCount === 0
  const at = chosen ? (isEmptyText ? chosen.pos : chosen.pos + chosen.node.nodeSize) : state.doc.content.size
  const tr = isEmptyText ? state.tr.replaceWith(at, at + chosen.node.nodeSize, block) : state.tr.insert(at, block)
  const selection = block.isAtom ? NodeSelection.create(tr.doc, at) : Selection.near(tr.doc.resolve(at + 1))
  dispatch(tr.setSelection(selection).scrollIntoView())
  return true
}

/** Gives a row of columns another number of them. Columns that go leave their blocks in the last one that stays. */
export function setColumnCount(state: EditorState, { pos, node }: PlacedBlock, count: number, dispatch: Dispatch): boolean {
  const { column, paragraph } = state.schema.nodes
  const kept: Node[] = []
  node.forEach((child) => {
    const last = kept.at(-1)
    if (kept.length < count || !last) kept.push(child)
    else kept[kept.length - 1] = last.copy(last.content.append(child.content))
  })
  while (kept.length < count) kept.push(column!.create(null, paragraph!.create()))
  const changed = node.type.create({ ...node.attrs, widths: undefined }, kept)
  const tr = state.tr.replaceWith(pos, pos + node.nodeSize, changed)
  dispatch(closeHistory(tr.setSelection(NodeSelection.create(tr.doc, pos))))
  return true
}
