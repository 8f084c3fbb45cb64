import type { Design } from '@sterna/sdk'
import { Editor } from '@tiptap/core'
import { Node } from '@tiptap/pm/model'
import { Selection } from '@tiptap/pm/state'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { withBlockIds } from '../document/block-ids.ts'
import type { CanvasBrand } from '../document/canvas-brand.ts'
import { type DocumentNode, designOf, documentOf, ordered } from '../document/design-json.ts'
import { designSchema, extensionsFor } from '../document/extensions.ts'
import { BlockKeys } from './block-keys.ts'
import { BlockMarks } from './block-marks.ts'
import { clickIntoText } from './click-into-text.ts'
import { CanvasPaste, type UploadImages } from './paste.ts'
import { TypedMenu, typedQuery } from './typed-menu.ts'

/** The page gets the design this long after the last key: typing waits for nothing. */
const CHANGE_AFTER_MS = 250

type EditorOptions = {
  host: RefObject<HTMLDivElement | null>
  label: string
  design: Design
  brand: CanvasBrand
  onChange: (design: Design) => void
  uploadImages: UploadImages
}

/** The editor of a design, mounted into `host`. Undefined until it is there, and when it cannot show the design. */
export function useDesignEditor({ host, label, design, brand, onChange, uploadImages }: EditorOptions) {
  const [editor, setEditor] = useState<Editor>()
  const [problem, setProblem] = useState<Error>()
  const latest = useRef({ design, onChange, uploadImages })
  latest.current = { design, onChange, uploadImages }
  /** The design that the editor shows, as JSON. */
  const shown = useRef('')
  const brandKey = JSON.stringify(brand)

  // biome-ignore lint/correctness/useExhaustiveDependencies: made once per brand; later designs are put into it below
  useEffect(() => {
    if (!host.current) return
    let made: Editor
    try {
      made = openEditor(host.current, {
        label,
        brand,
        design: latest.current.design,
        upload: (files) => latest.current.uploadImages(files),
      })
    } catch (error) {
      setProblem(error as Error)
      return
    }
    shown.current = JSON.stringify(ordered(latest.current.design))
    const stop = reportChanges(made, (document) => {
      const changed = designOf(document, latest.current.design.settings)
      const json = JSON.stringify(changed)
      if (json === shown.current) return
      shown.current = json
      latest.current.onChange(changed)
    })
    setEditor(made)
    return () => {
      stop()
      setEditor(undefined)
      made.destroy()
    }
  }, [host, label, brandKey])

  // A design from elsewhere: another version, theirs, or the one before an undone change of the page.
  useEffect(() => {
    const json = JSON.stringify(ordered(design))
    if (!editor || json === shown.current) return
    const isOnlySettings = JSON.stringify(ordered(design.content)) === JSON.stringify((JSON.parse(shown.current) as Design).content)
    shown.current = json
    if (!isOnlySettings) replaceDocument(editor, design)
  }, [editor, design])

  return { editor, problem }
}

type OpenOptions = Pick<EditorOptions, 'label' | 'design' | 'brand'> & { upload: UploadImages }

function openEditor(element: HTMLElement, { label, design, brand, upload }: OpenOptions) {
  const editor = new Editor({
    element,
    extensions: [...extensionsFor(brand), BlockKeys, BlockMarks, TypedMenu, CanvasPaste.configure({ upload })],
    content: readDocument(design).toJSON(),
    injectCSS: false,
    editorProps: {
      attributes: { class: 'email-canvas', role: 'textbox', 'aria-multiline': 'true', 'aria-label': label, spellcheck: 'true' },
      handleClick: clickIntoText,
    },
  })
  // In the first text, not around a block that happens to come first.
  const first = Selection.findFrom(editor.state.doc.resolve(0), 1, true)
  if (first) editor.view.dispatch(editor.state.tr.setSelection(first))
  return editor
}

let schema: ReturnType<typeof designSchema> | undefined

/** Throws if the document cannot hold the design: it must not become an empty one, which would be saved. */
function readDocument(design: Design) {
  schema ??= designSchema()
  const doc = Node.fromJSON(schema, documentOf(design))
  doc.check()
  return withBlockIds(doc)
}

function replaceDocument(editor: Editor, design: Design) {
  const { state, view } = editor
  const doc = Node.fromJSON(state.schema, readDocument(design).toJSON())
  view.dispatch(state.tr.replaceWith(0, state.doc.content.size, doc.content).setMeta('addToHistory', false))
}

/** Calls `report` after a pause in typing, and at once when the focus leaves, at ⌘S and at a click. Returns what ends it. */
function reportChanges(editor: Editor, report: (document: DocumentNode) => void) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = () => {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = undefined
    report(editor.getJSON() as DocumentNode)
  }
  const isChoosing = () => typedQuery(editor.state)?.kind === 'field'
  const onPointer = () => isChoosing() || flush()
  const wait = () => {
    clearTimeout(timer)
    // A variable whose name is being chosen would be an error.
    timer = setTimeout(() => (isChoosing() ? wait() : flush()), CHANGE_AFTER_MS)
  }
  const onKey = (event: KeyboardEvent) => (event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 's' && flush()
  editor.on('update', wait)
  editor.on('blur', flush)
  // Before the page sees them: Save saves what is on the canvas, also after a click in the list of blocks.
  document.addEventListener('keydown', onKey, true)
  document.addEventListener('pointerdown', onPointer, true)
  return () => {
    document.removeEventListener('keydown', onKey, true)
    document.removeEventListener('pointerdown', onPointer, true)
    flush()
  }
}
