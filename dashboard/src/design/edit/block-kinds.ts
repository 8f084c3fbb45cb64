import {
  Braces,
  Code,
  Columns2,
  Columns3,
  Heading1,
  Heading2,
  Image,
  Link2,
  List,
  ListOrdered,
  type LucideIcon,
  MousePointerClick,
  PanelBottom,
  Repeat,
  SeparatorHorizontal,
  Square,
  Stamp,
  Type,
  UnfoldVertical,
} from 'lucide-react'
import type { DocumentNode } from '../document/design-json.ts'

export type BlockKind = {
  key: string
  label: string
  hint: string
  icon: LucideIcon
  /** Further words that find it. */
  words?: string
  create: () => DocumentNode
}

const paragraph = (text?: string): DocumentNode => ({ type: 'paragraph', ...(text && { content: [{ type: 'text', text }] }) })
const columnsOf = (count: number): DocumentNode => ({
  type: 'columns',
  content: Array.from({ length: count }, () => ({ type: 'column', content: [paragraph()] })),
})
const listOf = (type: string): DocumentNode => ({ type, content: [{ type: 'listItem', content: [paragraph()] }] })

/** The kinds of blocks, in the order of the menu. A new block of each kind can be sent as it is. */
export const BLOCK_KINDS: BlockKind[] = [
  { key: 'text', label: 'Text', hint: 'A paragraph', icon: Type, words: 'paragraph', create: () => paragraph() },
  {
    key: 'heading',
    label: 'Heading',
    hint: 'Large',
    icon: Heading1,
    words: 'title h1',
    create: () => ({ type: 'heading', attrs: { level: 1 } }),
  },
  {
    key: 'subheading',
    label: 'Subheading',
    hint: 'Medium',
    icon: Heading2,
    words: 'title h2',
    create: () => ({ type: 'heading', attrs: { level: 2 } }),
  },
  {
    key: 'button',
    label: 'Button',
    hint: 'A prominent link',
    icon: MousePointerClick,
    words: 'link call to action',
    create: () => ({ type: 'button', attrs: { href: '' }, content: [{ type: 'text', text: 'Read more' }] }),
  },
  {
    key: 'image',
    label: 'Picture',
    hint: 'Upload or link one',
    icon: Image,
    words: 'image photo',
    create: () => ({ type: 'image', attrs: { src: '' } }),
  },
  {
    key: 'logo',
    label: 'Logo',
    hint: 'From your brand',
    icon: Stamp,
    words: 'brand',
    create: () => ({ type: 'image', attrs: { src: '', isLogo: true, width: 140, align: 'left' } }),
  },
  { key: 'bulletList', label: 'Bullet list', hint: 'Points', icon: List, create: () => listOf('bulletList') },
  { key: 'orderedList', label: 'Numbered list', hint: 'Steps', icon: ListOrdered, create: () => listOf('orderedList') },
  { key: 'columns', label: 'Two columns', hint: 'Side by side', icon: Columns2, create: () => columnsOf(2) },
  { key: 'columns3', label: 'Three columns', hint: 'Side by side', icon: Columns3, create: () => columnsOf(3) },
  {
    key: 'section',
    label: 'Section',
    hint: 'A coloured box',
    icon: Square,
    words: 'box background',
    create: () => ({ type: 'section', attrs: { bg: '#f1f5f7', padding: 24 }, content: [paragraph()] }),
  },
  { key: 'divider', label: 'Divider', hint: 'A line', icon: SeparatorHorizontal, words: 'line rule', create: () => ({ type: 'divider' }) },
  {
    key: 'spacer',
    label: 'Space',
    hint: 'Empty space',
    icon: UnfoldVertical,
    words: 'spacer gap',
    create: () => ({ type: 'spacer', attrs: { height: 24 } }),
  },
  { key: 'social', label: 'Social links', hint: 'Your profiles', icon: Link2, create: () => ({ type: 'social', attrs: { links: [] } }) },
  {
    key: 'footer',
    label: 'Footer',
    hint: 'Address and unsubscribe link',
    icon: PanelBottom,
    words: 'unsubscribe address',
    create: () => ({ type: 'footer' }),
  },
  {
    key: 'condition',
    label: 'Condition',
    hint: 'Shown to some people only',
    icon: Braces,
    words: 'if show hide',
    create: () => ({ type: 'condition', attrs: { field: 'subscribed', operator: 'equals', value: true }, content: [paragraph()] }),
  },
  {
    key: 'loop',
    label: 'Repeat',
    hint: 'Once per item of a list',
    icon: Repeat,
    words: 'loop for each',
    create: () => ({ type: 'loop', attrs: { item: 'item', list: 'items' }, content: [paragraph()] }),
  },
  {
    key: 'html',
    label: 'HTML',
    hint: 'Your own code',
    icon: Code,
    words: 'code raw',
    create: () => ({ type: 'html', attrs: { source: '' } }),
  },
]

/** Kinds with a word that begins with the typed text come before kinds that only contain it. */
export function findKinds(query: string): BlockKind[] {
  const typed = query.trim().toLowerCase()
  const textOf = ({ label, words = '' }: BlockKind) => `${label} ${words}`.toLowerCase()
  const found = BLOCK_KINDS.filter((kind) => textOf(kind).includes(typed))
  const rank = (kind: BlockKind) => (kind.label.toLowerCase().startsWith(typed) ? 0 : 1)
  return found.toSorted((a, b) => rank(a) - rank(b))
}
