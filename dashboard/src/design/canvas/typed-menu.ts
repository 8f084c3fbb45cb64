import { Extension } from '@tiptap/core'
import { type EditorState, Plugin, PluginKey } from '@tiptap/pm/state'

/** Text that opens a menu while it is typed: `/but` for blocks, `{{ pl` for fields. */
export type TypedQuery = { kind: 'block' | 'field'; query: string; from: number; to: number }

type MenuState = { typed: TypedQuery | null /** Where Escape closed the menu. */; dismissedAt: number | null }

const KEY = new PluginKey<MenuState>('typedMenu')

export const typedQuery = (state: EditorState): TypedQuery | null => {
  const { typed, dismissedAt } = KEY.getState(state) ?? { typed: null, dismissedAt: null }
  return typed && typed.from !== dismissedAt ? typed : null
}

export const dismissMenu = (state: EditorState) => state.tr.setMeta(KEY, 'dismiss').setMeta('addToHistory', false)

const MAX_LOOKED_AT = 80

/** The query before the cursor. */
export function queryBefore(text: string): (Pick<TypedQuery, 'kind' | 'query'> & { length: number }) | undefined {
  const field = /\{\{\s*([^{}|?]*)$/.exec(text)
  if (field) return { kind: 'field', query: field[1]!.trim(), length: field[0].length }
  const block = /(?:^|\s)(\/([\p{L}\d ]{0,20}))$/u.exec(text)
  return block ? { kind: 'block', query: block[2]!, length: block[1]!.length } : undefined
}

function read({ selection }: EditorState): TypedQuery | null {
  const { $from, empty } = selection
  if (!empty || !$from.parent.isTextblock) return null
  const start = Math.max(0, $from.parentOffset - MAX_LOOKED_AT)
  const found = queryBefore($from.parent.textBetween(start, $from.parentOffset, '\n', '\ufffc'))
  return found ? { kind: found.kind, query: found.query, from: $from.pos - found.length, to: $from.pos } : null
}

type KeyListener = (event: KeyboardEvent) => boolean

declare module '@tiptap/core' {
  interface Storage {
    typedMenu: { /** Handles keys while a menu is open. */ onKey: KeyListener | null }
  }
}

export const TypedMenu = Extension.create<object, { onKey: KeyListener | null }>({
  name: 'typedMenu',
  // The keys of an open menu come before everything else.
  priority: 1_000,
  addStorage: () => ({ onKey: null }),
  addProseMirrorPlugins() {
    return [
      new Plugin<MenuState>({
        key: KEY,
        state: {
          init: () => ({ typed: null, dismissedAt: null }),
          apply(tr, value, _, state) {
            const typed = read(state)
            if (tr.getMeta(KEY) === 'dismiss') return { typed, dismissedAt: typed?.from ?? null }
            if (!tr.docChanged && !tr.selectionSet) return value
            // A menu opens by typing, not by a click into a text with a slash.
            const isOpen = typed && (tr.docChanged || value.typed?.from === typed.from)
            return { typed: isOpen ? typed : null, dismissedAt: typed?.from === value.dismissedAt ? value.dismissedAt : null }
          },
        },
        props: { handleKeyDown: (_, event) => this.storage.onKey?.(event) ?? false },
      }),
    ]
  },
})
