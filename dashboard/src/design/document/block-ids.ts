import { Extension } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { Plugin } from '@tiptap/pm/state'

const ID_BYTES = 6

/** Unique in a design. Not `randomUUID`: browsers have it only on https. */
const newBlockId = () => [...crypto.getRandomValues(new Uint8Array(ID_BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('')

type Unnamed = { pos: number; id: string }

/** Blocks without an id, and later ones with the id of an earlier block, such as copies. */
function unnamedBlocks(doc: Node): Unnamed[] {
  const seen = new Set<unknown>()
  const found: Unnamed[] = []
  doc.descendants((node, pos, parent) => {
    if (!node.type.isInGroup('block') || parent?.type.name === 'listItem') return !node.isTextblock
    const { id } = node.attrs
    if (typeof id !== 'string' || seen.has(id)) found.push({ pos, id: newBlockId() })
    seen.add(id)
    return !node.isTextblock
  })
  return found
}

/** Names every block, so that issues and settings find it. */
export const BlockIds = Extension.create({
  name: 'blockIds',
  addProseMirrorPlugins: () => [
    new Plugin({
      appendTransaction(transactions, _, state) {
        if (!transactions.some(({ docChanged }) => docChanged)) return null
        const unnamed = unnamedBlocks(state.doc)
        if (unnamed.length === 0) return null
        const { tr } = state
        for (const { pos, id } of unnamed) tr.setNodeAttribute(pos, 'id', id)
        return tr.setMeta('addToHistory', false)
      },
    }),
  ],
})

/** A document whose blocks all have ids, given one whose blocks may lack them. */
export function withBlockIds(doc: Node): Node {
  const unnamed = unnamedBlocks(doc)
  if (unnamed.length === 0) return doc
  const ids = new Map(unnamed.map(({ pos, id }) => [pos, id]))
  const json = nameNodes(doc, ids, 0)
  return json
}

function nameNodes(node: Node, ids: Map<number, string>, start: number): Node {
  if (node.isText || node.isLeaf) return node
  const children: Node[] = []
  node.forEach((child, offset) => {
    const pos = start + offset
    const named = nameNodes(child, ids, pos + 1)
    const id = ids.get(pos)
    children.push(id === undefined ? named : named.type.create({ ...named.attrs, id }, named.content, named.marks))
  })
  return node.type.create(node.attrs, children, node.marks)
}
