import type { DesignBlock, DesignInline } from '../design/schema.ts'

/** Short forms for writing designs by hand. Blocks get their ids when the list is made, see `starters.ts`. */

type Inline = string | DesignInline
type Align = 'left' | 'center' | 'right'

const text = (words: string): DesignInline => ({ type: 'text', text: words })
export const bold = (words: string): DesignInline => ({ type: 'text', text: words, marks: [{ type: 'bold' }] })
export const link = (words: string, href: string): DesignInline => ({
  type: 'text',
  text: words,
  marks: [{ type: 'link', attrs: { href } }],
})
export const field = (path: string, fallback?: string): DesignInline => ({ type: 'variable', attrs: { path, fallback } })

const inline = (parts: Inline[]) => parts.map((part) => (typeof part === 'string' ? text(part) : part))

export const heading = (level: 1 | 2 | 3, ...parts: Inline[]): DesignBlock => ({
  type: 'heading',
  attrs: { level },
  content: inline(parts),
})
export const paragraph = (...parts: Inline[]): DesignBlock => ({ type: 'paragraph', content: inline(parts) })
export const atRight = (...parts: Inline[]): DesignBlock => ({ type: 'paragraph', attrs: { align: 'right' }, content: inline(parts) })
export const list = (type: 'bulletList' | 'orderedList', ...items: Inline[][]): DesignBlock => ({
  type,
  content: items.map((parts) => ({ type: 'listItem', content: [{ type: 'paragraph', content: inline(parts) }] })),
})
export const button = (label: string, href: string, style: 'filled' | 'outline' | 'link' = 'filled'): DesignBlock => ({
  type: 'button',
  attrs: { href, style },
  content: [text(label)],
})
export const divider = (): DesignBlock => ({ type: 'divider', attrs: {} })
export const spacer = (height: number): DesignBlock => ({ type: 'spacer', attrs: { height } })
export const section = (bg: string, ...content: DesignBlock[]): DesignBlock => ({ type: 'section', attrs: { bg, padding: 24 }, content })
export const logo = (align: Align = 'left'): DesignBlock => ({ type: 'image', attrs: { src: '', isLogo: true, width: 140, align } })
export const footer = (): DesignBlock => ({ type: 'footer', attrs: {} })
export const loop = (item: string, items: string, ...content: DesignBlock[]): DesignBlock => ({
  type: 'loop',
  attrs: { item, list: items },
  content,
})
export const shownIf = (attrs: { field: string; operator: 'exists' | 'notExists' }, ...content: DesignBlock[]): DesignBlock => ({
  type: 'condition',
  attrs,
  content,
})

type Columns = { stack?: boolean; widths?: number[] }
export const columnRow = (options: Columns, ...contents: DesignBlock[][]): DesignBlock => ({
  type: 'columns',
  attrs: options,
  content: contents.map((content) => ({ type: 'column', content })),
})

/** How most emails begin and end. */
export const TOP = [spacer(16), logo()]
export const BOTTOM = [spacer(16), footer()]
/** Background of sections. */
export const TINT = '#eef4f6'

/** Centres headings, texts, buttons and pictures. */
export const centred = (...blocks: DesignBlock[]): DesignBlock[] =>
  blocks.map((block) =>
    block.type === 'heading' || block.type === 'paragraph' || block.type === 'button' || block.type === 'image'
      ? ({ ...block, attrs: { ...block.attrs, align: 'center' } } as DesignBlock)
      : block,
  )

export const starter = (key: string, name: string, content: DesignBlock[]) => ({ key, name, content })
