import type { Node } from '@tiptap/pm/model'
import { BLOCK_NAMES, conditionWords, loopWords } from '../document/words.ts'
import { isBlock } from './chosen-block.ts'

export type OutlineItem = { id: string; type: string; label: string; children: OutlineItem[] }

const MAX_LABEL = 40

/** The blocks of a document as a tree. Columns are items without actions of their own: their ids are made of the row and their number. */
export function blockOutlineOf(doc: Node): OutlineItem[] {
  return itemsIn(doc)
}

function itemsIn(parent: Node): OutlineItem[] {
  const items: OutlineItem[] = []
  parent.forEach((node, _, index) => {
    if (node.type.name === 'column')
      items.push({ id: `${parent.attrs.id}/${index}`, type: 'column', label: `Column ${index + 1}`, children: itemsIn(node) })
    else if (isBlock(node, parent)) {
      const isOpaque = node.isTextblock || node.isLeaf || node.type.name.endsWith('List')
      items.push({
        id: String(node.attrs.id ?? ''),
        type: node.type.name,
        label: blockLabelOf(node),
        children: isOpaque ? [] : itemsIn(node),
      })
    }
  })
  return items
}

/** `Heading: Welcome`. */
function blockLabelOf(node: Node): string {
  const { type, attrs } = node
  if (type.name === 'condition') return conditionWords(attrs)
  if (type.name === 'loop') return loopWords(attrs)
  if (type.name === 'image' && attrs.isLogo) return 'Logo'
  const name = BLOCK_NAMES[type.name] ?? type.name
  const said = type.name === 'image' ? String(attrs.alt ?? '') : node.isLeaf ? '' : textOf(node)
  if (node.isBlock && !node.isTextblock && !type.name.endsWith('List')) return name
  return said ? `${name}: ${said.length > MAX_LABEL ? `${said.slice(0, MAX_LABEL)}…` : said}` : name
}

const textOf = (node: Node) =>
  node.textBetween(0, node.content.size, ' ', (leaf) => (leaf.type.name === 'variable' ? String(leaf.attrs.path) : ' ')).trim()
