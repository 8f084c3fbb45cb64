import { Extension } from '@tiptap/core'
import type { Node } from '@tiptap/pm/model'
import { type EditorState, Plugin, PluginKey } from '@tiptap/pm/state'
import { Decoration, DecorationSet } from '@tiptap/pm/view'

/** Marks at blocks of the canvas: issues by id of the block, and variables without a value. */
export type CanvasMarks = { issues: Record<string, 'error' | 'warning' | 'info'>; missing: string[] }

const KEY = new PluginKey<{ marks: CanvasMarks; set: DecorationSet }>('blockMarks')
const NONE: CanvasMarks = { issues: {}, missing: [] }

export const setCanvasMarks = (state: EditorState, marks: CanvasMarks) => state.tr.setMeta(KEY, marks).setMeta('addToHistory', false)

function decorate(doc: Node, { issues, missing }: CanvasMarks) {
  const found: Decoration[] = []
  if (Object.keys(issues).length === 0 && missing.length === 0) return DecorationSet.empty
  doc.descendants((node, pos) => {
    const severity = issues[String(node.attrs.id)]
    if (severity) found.push(Decoration.node(pos, pos + node.nodeSize, { 'data-issue': severity }))
    if (node.type.name === 'variable' && missing.includes(String(node.attrs.path)))
      found.push(Decoration.node(pos, pos + node.nodeSize, { 'data-missing': '' }))
  })
  return DecorationSet.create(doc, found)
}

/** In an empty text: what can be typed there. */
function placeholder({ selection, doc }: EditorState) {
  const { $from, empty } = selection
  if (!empty || $from.parent.type.name !== 'paragraph' || $from.parent.childCount > 0 || $from.node(-1).type.name === 'listItem') return []
  if (doc.content.size === 0) return []
  return [Decoration.node($from.before(), $from.after(), { 'data-placeholder': 'Type, or / for a block' })]
}

export const BlockMarks = Extension.create({
  name: 'blockMarks',
  addProseMirrorPlugins: () => [
    new Plugin({
      key: KEY,
      state: {
        init: () => ({ marks: NONE, set: DecorationSet.empty }),
        apply(tr, value) {
          const marks = tr.getMeta(KEY) as CanvasMarks | undefined
          if (marks) return { marks, set: decorate(tr.doc, marks) }
          // Moved along, not searched for: every key would go through the whole document.
          return tr.docChanged ? { ...value, set: value.set.map(tr.mapping, tr.doc) } : value
        },
      },
      props: {
        decorations(state) {
          const set = KEY.getState(state)?.set ?? DecorationSet.empty
          const own = placeholder(state)
          return own.length > 0 ? set.add(state.doc, own) : set
        },
      },
    }),
  ],
})
