import { InputRule, Mark, Node } from '@tiptap/core'
import { readAttrs, safeColor, safeUrl } from './block-attrs.ts'
import { readVariable } from './variables.ts'
import { variableWords } from './words.ts'

const VARIABLE = ['path', 'fallback', 'filter']
const plain = (value: unknown) => ({ default: value, rendered: false, parseHTML: () => null })

/** A value of the contact, shown as a chip. */
export const VariablePart = Node.create({
  name: 'variable',
  group: 'inline',
  inline: true,
  atom: true,
  addAttributes: () => ({ path: plain(''), fallback: plain(undefined), filter: plain(undefined) }),
  parseHTML: () => [{ tag: 'span[data-variable]', getAttrs: (element) => readAttrs(element, VARIABLE) }],
  renderHTML: ({ node: { attrs } }) => [
    'span',
    {
      'data-variable': '',
      'data-attrs': JSON.stringify(attrs),
      ...(attrs.fallback && { 'data-fallback': attrs.fallback, title: `Or “${attrs.fallback}” if there is none` }),
    },
    variableWords(attrs),
  ],
  // In copied plain text it is an expression again.
  renderText: ({ node: { attrs } }) => `{{ ${attrs.path}${attrs.fallback ? ` ?? "${attrs.fallback}"` : ''} }}`,
  addInputRules() {
    return [
      new InputRule({
        find: /\{\{[^{}]+\}\}$/,
        handler: ({ range, match, chain }) => {
          const attrs = readVariable(match[0])
          if (!attrs) return null
          chain().insertContentAt(range, { type: this.name, attrs }).run()
        },
      }),
    ]
  },
})

/** Links lead nowhere on the canvas: a click places the cursor. */
export const LinkMark = Mark.create({
  name: 'link',
  inclusive: false,
  addAttributes: () => ({ href: plain('') }),
  parseHTML: () => [
    {
      tag: 'a',
      getAttrs: (element) => {
        const href = element.getAttribute('data-href') ?? safeUrl(element.getAttribute('href'))
        return href ? { href } : false
      },
    },
  ],
  renderHTML: ({ mark: { attrs } }) => {
    const target = safeUrl(attrs.href)
    return ['a', { 'data-href': attrs.href, title: attrs.href, rel: 'noopener', ...(target && { href: target }) }, 0]
  },
})

export const ColorMark = Mark.create({
  name: 'color',
  addAttributes: () => ({ color: plain('') }),
  // Colours of pasted pages and documents are not taken: they were chosen for another background.
  parseHTML: () => [
    {
      tag: 'span[data-color]',
      getAttrs: (element) => {
        const color = safeColor(element.getAttribute('data-color'))
        return color ? { color } : false
      },
    },
  ],
  renderHTML: ({ mark: { attrs } }) => {
    const color = safeColor(attrs.color)
    return ['span', { 'data-color': attrs.color, ...(color && { style: `color:${color}` }) }, 0]
  },
})
