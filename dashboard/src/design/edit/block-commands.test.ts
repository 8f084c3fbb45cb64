import { history, undo } from '@tiptap/pm/history'
import { Node } from '@tiptap/pm/model'
import { EditorState, TextSelection } from '@tiptap/pm/state'
import { describe, expect, test } from 'vitest'
import { designSchema } from '../document/extensions.ts'
import { deleteBlock, duplicateBlock, insertBlock, moveBlock, setColumnCount } from './block-commands.ts'
import { blocksAround, blockWithId, chosenBlock } from './chosen-block.ts'

const schema = designSchema()
const text = (id: string, words = id) => ({ type: 'paragraph', attrs: { id }, content: [{ type: 'text', text: words }] })
const columns = (id: string, ...contents: unknown[][]) => ({
  type: 'columns',
  attrs: { id },
  content: contents.map((content) => ({ type: 'column', content })),
})

function stateOf(...content: unknown[]) {
  const doc = Node.fromJSON(schema, { type: 'doc', content })
  let state = EditorState.create({ doc, plugins: [history()] })
  return {
    get state() {
      return state
    },
    run(command: (current: EditorState, dispatch: (tr: EditorState['tr']) => void) => boolean) {
      const done = command(state, (tr) => {
        state = state.apply(tr)
      })
      state.doc.check()
      return done
    },
    at: (id: string) => blockWithId(state.doc, id)!,
    cursorIn(id: string) {
      state = state.apply(state.tr.setSelection(TextSelection.create(state.doc, blockWithId(state.doc, id)!.pos + 2)))
    },
    /** Texts in order, `|` between the blocks of the document. */
    get shown() {
      return state.doc.textBetween(0, state.doc.content.size, '|', '*')
    },
  }
}

describe('a block', () => {
  test('moves past its neighbour with the cursor in it, and no further than its parent', () => {
    const editor = stateOf(text('a'), columns('row', [text('b')], [text('c'), text('d')]))
    editor.cursorIn('d')
    expect(editor.run((state, dispatch) => moveBlock('up', state, editor.at('d'), dispatch))).toBe(true)
    expect(editor.shown).toBe('a|b|d|c')
    expect(chosenBlock(editor.state)!.node.attrs.id).toBe('d')
    expect(editor.run((state, dispatch) => moveBlock('up', state, editor.at('d'), dispatch))).toBe(false)
    editor.run((state, dispatch) => moveBlock('up', state, editor.at('row'), dispatch))
    expect(editor.shown).toBe('b|d|c|a')
  })

  test('is moved, copied and deleted by changes that are undone one by one, however quickly they follow', () => {
    const editor = stateOf(text('a'), text('b'), text('c'))
    editor.run((state, dispatch) => moveBlock('up', state, editor.at('c'), dispatch))
    editor.run((state, dispatch) => duplicateBlock(state, editor.at('c'), dispatch))
    editor.run((state, dispatch) => deleteBlock(state, editor.at('c'), dispatch))
    const shown = [editor.shown]
    while (editor.run(undo)) shown.push(editor.shown)
    expect(shown).toEqual(['a|c|b', 'a|c|c|b', 'a|c|b', 'a|b|c'])
  })

  test('is copied below itself and deleted; the last of a column leaves an empty text', () => {
    const editor = stateOf(text('a'), columns('row', [text('b')], [text('c')]))
    editor.run((state, dispatch) => duplicateBlock(state, editor.at('a'), dispatch))
    expect(editor.shown).toBe('a|a|b|c')
    editor.run((state, dispatch) => deleteBlock(state, editor.at('b'), dispatch))
    expect(editor.shown).toBe('a|a||c')
    editor.run((state, dispatch) => deleteBlock(state, editor.at('row'), dispatch))
    expect(editor.shown).toBe('a|a')
  })

  test('is inserted below the chosen one, or in the place of an empty text', () => {
    const editor = stateOf(text('a'), { type: 'paragraph', attrs: { id: 'empty' } })
    const heading = schema.nodes.heading!.create({ level: 1 }, schema.text('h'))
    editor.run((state, dispatch) => insertBlock(state, heading, editor.at('a'), dispatch))
    expect(editor.shown).toBe('a|h|')
    editor.run((state, dispatch) => insertBlock(state, schema.nodes.divider!.create(), editor.at('empty'), dispatch))
    expect(editor.state.doc.childCount).toBe(3)
    expect(editor.state.doc.lastChild!.type.name).toBe('divider')
  })

  test('is found with the blocks around it', () => {
    const editor = stateOf({ type: 'section', attrs: { id: 's' }, content: [columns('row', [text('b')], [text('c')])] })
    editor.cursorIn('c')
    expect(blocksAround(editor.state).map(({ node }) => node.attrs.id)).toEqual(['s', 'row', 'c'])
  })
})

test('columns that are taken away leave their blocks', () => {
  const editor = stateOf(columns('row', [text('a')], [text('b')], [text('c')]))
  editor.run((state, dispatch) => setColumnCount(state, editor.at('row'), 2, dispatch))
  expect(editor.shown).toBe('a|b|c')
  editor.run((state, dispatch) => setColumnCount(state, editor.at('row'), 4, dispatch))
  expect(editor.at('row').node.childCount).toBe(4)
})
