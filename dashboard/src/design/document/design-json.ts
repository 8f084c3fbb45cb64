import type { Design } from '@sterna/sdk'

/** A node of the editor's document as JSON. */
export type DocumentNode = {
  type: string
  text?: string
  attrs?: Record<string, unknown>
  marks?: { type: string; attrs?: Record<string, unknown> }[]
  content?: DocumentNode[]
}

/** The document of a design. An editor needs a line to type in. */
export const documentOf = ({ content }: Design): DocumentNode => ({
  type: 'doc',
  content: content.length > 0 ? (content as DocumentNode[]) : [{ type: 'paragraph' }],
})

/** The design that a document shows. Settings are not part of the document. */
export const designOf = ({ content = [] }: DocumentNode, settings: Design['settings']): Design =>
  // The nodes of the editor are the blocks of the API, see the test.
  ordered({ version: 1, ...(settings && { settings }), content: content.map(cleaned) }) as Design

/** Blocks whose `attrs` may be left out. */
const MAY_LACK_ATTRS = new Set(['paragraph', 'bulletList', 'orderedList', 'listItem', 'column', 'hardBreak'])

/** Without attributes that are not set. */
function cleaned({ type, text, attrs, marks, content }: DocumentNode): DocumentNode {
  const given = Object.fromEntries(Object.entries(attrs ?? {}).filter(([, value]) => value !== undefined))
  const hasAttrs = Object.keys(given).length > 0 || (text === undefined && !MAY_LACK_ATTRS.has(type))
  return {
    type,
    ...(text !== undefined && { text }),
    ...(hasAttrs && { attrs: given }),
    ...(marks?.length && { marks }),
    ...(content?.length && { content: content.map(cleaned) }),
  }
}

/** With keys in one order everywhere: equal designs are equal as JSON. The database has an order of its own. */
export function ordered<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(ordered) as Value
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, each]) => [key, ordered(each)])) as Value
}

/** The blocks of a new email. */
export const blankDesign = (): Design =>
  ordered({
    version: 1,
    content: [
      { type: 'image', attrs: { id: 'logo', src: '', isLogo: true, width: 140, align: 'left' } },
      { type: 'heading', attrs: { id: 'title', level: 1 }, content: [{ type: 'text', text: 'Hello' }] },
      { type: 'paragraph', attrs: { id: 'text' }, content: [{ type: 'text', text: 'Write your email here.' }] },
      { type: 'footer', attrs: { id: 'footer' } },
    ],
  })

/** A design that prints the HTML as it is. */
export const designOfHtml = (source: string): Design => ordered({ version: 1, content: [{ type: 'html', attrs: { id: 'html', source } }] })
