import { InputRule, Node, textblockTypeInputRule } from '@tiptap/core'
import { BulletList, ListItem, OrderedList } from '@tiptap/extension-list'
import { TextSelection } from '@tiptap/pm/state'
import { attributesOf, readAttrs, writeAttrs } from './block-attrs.ts'

const alignOf = (element: HTMLElement) => readAttrs(element, ['align'])

export const ParagraphBlock = Node.create({
  name: 'paragraph',
  group: 'block',
  content: 'inline*',
  priority: 1_000,
  addAttributes: () => attributesOf({ align: undefined }),
  parseHTML: () => [{ tag: 'p', getAttrs: alignOf }],
  renderHTML: ({ node: { attrs } }) => ['p', textAttributes('paragraph', attrs), 0],
})

/** Attributes of the element of a block with text. */
function textAttributes(type: string, attrs: Record<string, unknown>) {
  const { align } = attrs
  return { 'data-block': type, ...(typeof align === 'string' && { 'data-align': align, 'data-attrs': writeAttrs({ align }) }) }
}

const LEVELS = [1, 2, 3]

export const HeadingBlock = Node.create({
  name: 'heading',
  group: 'block',
  content: 'inline*',
  defining: true,
  addAttributes: () => attributesOf({ level: 1, align: undefined }),
  // Three sizes are enough for an email.
  parseHTML: () =>
    [1, 2, 3, 4, 5, 6].map((level) => ({
      tag: `h${level}`,
      getAttrs: (element) => ({ ...alignOf(element), level: Math.min(level, 3) }),
    })),
  renderHTML: ({ node: { attrs } }) => [`h${LEVELS.includes(attrs.level) ? attrs.level : 3}`, textAttributes('heading', attrs), 0],
  addInputRules() {
    return LEVELS.map((level) =>
      textblockTypeInputRule({ find: new RegExp(`^(#{${level}})\\s$`), type: this.type, getAttributes: { level } }),
    )
  },
  addKeyboardShortcuts() {
    return Object.fromEntries(
      LEVELS.map((level) => [`Mod-Alt-${level}`, () => this.editor.commands.toggleNode('heading', 'paragraph', { level })]),
    )
  },
})

const BUTTON = ['href', 'align', 'style']

export const ButtonBlock = Node.create({
  name: 'button',
  group: 'block',
  content: 'inline*',
  defining: true,
  addAttributes: () => attributesOf({ href: '', align: undefined, style: undefined }),
  parseHTML: () => [{ tag: 'div[data-block=button]', contentElement: 'span', getAttrs: (element) => readAttrs(element, BUTTON) }],
  renderHTML: ({ node: { attrs } }) => [
    'div',
    { ...textAttributes('button', attrs), 'data-style': attrs.style ?? 'filled', 'data-attrs': writeAttrs(attrs) },
    ['span', { class: 'email-button' }, 0],
  ],
  addKeyboardShortcuts() {
    return {
      // A button has one line. The next one is a text below it.
      Enter: () =>
        this.editor.commands.command(({ state, tr }) => {
          const { $from, empty } = state.selection
          if (!empty || $from.parent.type !== this.type) return false
          const after = $from.after()
          tr.insert(after, state.schema.nodes.paragraph!.create())
          tr.setSelection(TextSelection.create(tr.doc, after + 1)).scrollIntoView()
          return true
        }),
    }
  },
})

export const BulletListBlock = BulletList.extend({ addAttributes: () => attributesOf({}) })

export const OrderedListBlock = OrderedList.extend({
  addAttributes: () => attributesOf({}),
  renderHTML: () => ['ol', 0],
  parseHTML: () => [{ tag: 'ol' }],
  addInputRules() {
    return [wrapInList(/^1[.)]\s$/, this.type.name)]
  },
})

export const ListItemPart = ListItem.extend({ content: '(paragraph | bulletList | orderedList)+', addAttributes: () => ({}) })

const wrapInList = (find: RegExp, list: string) =>
  new InputRule({
    find,
    handler: ({ range, chain }) => {
      chain().deleteRange(range).toggleList(list, 'listItem').run()
    },
  })
