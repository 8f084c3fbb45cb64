import { Node } from '@tiptap/core'
import type { DOMOutputSpec } from '@tiptap/pm/model'
import { attributesOf, readAttrs, safeColor, writeAttrs } from './block-attrs.ts'
import { conditionWords, loopWords } from './words.ts'

type Attrs = Record<string, unknown>
type Look = { label?: string; style?: string }

type ContainerOptions = {
  content?: string
  /** Whether Backspace at its beginning leaves it alone. */
  isolating?: boolean
  look?: (attrs: Attrs) => Look
}

/** A block with blocks inside. */
function containerBlock(name: string, defaults: Attrs, { content = 'block+', isolating = false, look }: ContainerOptions) {
  const names = Object.keys(defaults)
  return Node.create({
    name,
    group: 'block',
    content,
    defining: true,
    isolating,
    addAttributes: () => attributesOf(defaults),
    parseHTML: () => [{ tag: `div[data-block=${name}]`, getAttrs: (element) => readAttrs(element, names) }],
    renderHTML: ({ node: { attrs } }): DOMOutputSpec => {
      const { label, style } = look?.(attrs) ?? {}
      return [
        'div',
        { 'data-block': name, 'data-attrs': writeAttrs(attrs), ...(label && { 'data-label': label }), ...(style && { style }) },
        0,
      ]
    },
  })
}

export const SectionBlock = containerBlock(
  'section',
  { bg: undefined, padding: undefined },
  {
    look: ({ bg, padding }) => {
      const color = safeColor(bg)
      return { style: `padding-block:${typeof padding === 'number' ? padding : 16}px${color ? `;background-color:${color}` : ''}` }
    },
  },
)

export const ColumnsBlock = containerBlock(
  'columns',
  { widths: undefined, stack: undefined },
  {
    content: 'column{2,4}',
    isolating: true,
    look: ({ widths }) => {
      const shares = Array.isArray(widths) ? widths.map(Number).filter((share) => share > 0) : []
      return shares.length > 1 ? { style: `grid-template-columns:${shares.map((share) => `minmax(0,${share}fr)`).join(' ')}` } : {}
    },
  },
)

export const ColumnPart = Node.create({
  name: 'column',
  content: 'block+',
  isolating: true,
  parseHTML: () => [{ tag: 'div[data-column]' }],
  renderHTML: () => ['div', { 'data-column': '' }, 0],
})

/** Without this a text would be shown to everyone after one Backspace. */
const KEPT = { isolating: true }

export const ConditionBlock = containerBlock(
  'condition',
  { field: undefined, operator: undefined, value: undefined, expression: undefined },
  { ...KEPT, look: (attrs) => ({ label: conditionWords(attrs) }) },
)

export const LoopBlock = containerBlock('loop', { item: 'item', list: '' }, { ...KEPT, look: (attrs) => ({ label: loopWords(attrs) }) })
