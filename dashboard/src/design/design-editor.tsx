import type { Design } from '@sterna/sdk'
import type { Editor } from '@tiptap/core'
import { ListTree, SlidersHorizontal } from 'lucide-react'
import { type CSSProperties, type ReactNode, type Ref, useEffect, useImperativeHandle, useMemo, useRef, useState } from 'react'
import { useApi, useProject } from '../projects/current.ts'
import { Dialog } from '../ui/dialog/dialog.tsx'
import { toast } from '../ui/dialog/toast.tsx'
import { Button } from '../ui/form/button.tsx'
import { Banner } from '../ui/notice/banner.tsx'
import { explain } from '../ui/notice/explain.ts'
import './canvas/canvas.css'
import { setCanvasMarks } from './canvas/block-marks.ts'
import { DragHandle } from './canvas/drag-handle.tsx'
import { insertImages, type UploadImages } from './canvas/paste.ts'
import type { TypedQuery } from './canvas/typed-menu.ts'
import { useDesignEditor } from './canvas/use-design-editor.ts'
import { brandOf, canvasVariables } from './document/canvas-brand.ts'
import { changeAttrs, insertBlock } from './edit/block-commands.ts'
import type { BlockKind } from './edit/block-kinds.ts'
import { chosenBlock } from './edit/chosen-block.ts'
import { FallbackDialog } from './menus/fallback-dialog.tsx'
import { LinkDialog } from './menus/link-dialog.tsx'
import { TypedMenuPopup } from './menus/typed-menu-popup.tsx'
import { EmailSettings } from './panels/email-settings.tsx'
import { chooseBlock, OutlinePanel } from './panels/outline-panel.tsx'
import { type BlockIssue, SettingsPanel } from './panels/settings-panel.tsx'
import { EditorToolbar } from './panels/toolbar.tsx'

const DEFAULT_WIDTH = 600

export type DesignEditorHandle = { choose: (blockId: string) => void }

type DesignEditorProps = {
  label: string
  design: Design
  onChange: (design: Design) => void
  /** Issues that the server found, at their blocks. */
  issues: BlockIssue[]
  /** Variables without a value for the person of the preview. */
  missing: string[]
  ref?: Ref<DesignEditorHandle>
}

/** Writes a design: canvas, tools, blocks as a list, settings of the chosen block. */
export default function DesignEditor({ label, design, onChange, issues, missing, ref }: DesignEditorProps) {
  const project = useProject()
  const uploadImages = useUpload()
  const host = useRef<HTMLDivElement>(null)
  const desk = useRef<HTMLDivElement>(null)
  const theme = design.settings?.theme
  const brand = useMemo(() => brandOf(project.brand, theme), [project.brand, theme])
  const { editor, problem } = useDesignEditor({ host, label, design, brand, onChange, uploadImages })
  const width = design.settings?.width ?? DEFAULT_WIDTH
  useImperativeHandle(ref, () => ({ choose: (blockId) => editor && chooseBlock(editor, blockId) }), [editor])
  const emailSettings = <EmailSettings settings={design.settings ?? {}} onSettings={(settings) => onChange({ ...design, settings })} />
  if (problem)
    return <Banner tone="danger">This email cannot be shown here ({problem.message}). Nothing was changed. Use the code instead.</Banner>
  return (
    <div className="flex min-w-0 flex-col bg-surface">
      {editor && (
        <Tools editor={editor} uploadImages={uploadImages} issues={issues}>
          {emailSettings}
        </Tools>
      )}
      <div className="grid min-w-0 grid-cols-1 lg:grid-cols-[minmax(0,1fr)_18rem]">
        <div ref={desk} className="email-desk relative min-w-0" style={canvasVariables(brand, width) as CSSProperties}>
          <div ref={host} />
          {editor && <DragHandle editor={editor} desk={desk} />}
        </div>
        {editor && (
          <Side editor={editor} issues={issues} missing={missing} uploadImages={uploadImages}>
            {emailSettings}
          </Side>
        )}
      </div>
    </div>
  )
}

/** Stores pictures; says what went wrong. */
function useUpload(): UploadImages {
  const api = useApi()
  return async (files) => {
    const stored: { url: string; name: string }[] = []
    for (const file of files) {
      try {
        stored.push({ url: (await api.uploads.image(file)).url, name: file.name })
      } catch (error) {
        toast(explain(error), { tone: 'danger' })
      }
    }
    return stored
  }
}

type PartProps = { editor: Editor; uploadImages: UploadImages; issues: BlockIssue[] }
/** A variable that was inserted and may need a fallback. */
type PendingField = { path: string; coverage: number; pos: number }

/** Tools above the canvas, and what they open. */
function Tools({ editor, uploadImages, issues, children }: PartProps & { children: ReactNode }) {
  const [linking, setLinking] = useState(false)
  const [pending, setPending] = useState<PendingField>()
  const [sheet, setSheet] = useState<'blocks' | 'settings'>()
  useLinkKey(editor, () => setLinking(true))
  function added(kind: BlockKind) {
    if (kind.key === 'image') void pickImage((file) => replaceImage(editor, file, uploadImages))
    editor.view.focus()
  }
  function chooseKind(kind: BlockKind, { from, to }: TypedQuery) {
    editor.view.dispatch(editor.state.tr.delete(from, to))
    const { state, view } = editor
    insertBlock(state, state.schema.nodeFromJSON(kind.create()), chosenBlock(state), view.dispatch)
    added(kind)
  }
  function chooseField({ path, coverage }: { path: string; coverage: number | undefined }, typed: TypedQuery) {
    const { from, to } = typed
    editor
      .chain()
      .focus()
      .insertContentAt({ from, to }, [{ type: 'variable', attrs: { path } }])
      .run()
    if (coverage !== undefined && coverage < 1) setPending({ path, coverage, pos: from })
  }
  function setFallback({ path, pos }: PendingField, fallback: string | undefined) {
    setPending(undefined)
    if (editor.state.doc.nodeAt(pos)?.attrs.path !== path) return
    changeAttrs(editor.state, pos, { fallback }, editor.view.dispatch)
    editor
      .chain()
      .setTextSelection(pos + 1)
      .focus()
      .run()
  }
  return (
    <>
      <EditorToolbar
        editor={editor}
        onLink={() => setLinking(true)}
        onVariable={() => editor.chain().focus().insertContent('{{ ').run()}
        onAdded={added}
      >
        <Button size="sm" variant="quiet" className="lg:hidden" aria-label="Blocks" onClick={() => setSheet('blocks')}>
          <ListTree aria-hidden="true" />
        </Button>
        <Button size="sm" variant="quiet" className="lg:hidden" aria-label="Settings of the block" onClick={() => setSheet('settings')}>
          <SlidersHorizontal aria-hidden="true" />
        </Button>
      </EditorToolbar>
      <TypedMenuPopup editor={editor} onBlock={chooseKind} onField={chooseField} />
      <LinkDialog editor={editor} open={linking} onClose={() => setLinking(false)} />
      {pending && (
        <FallbackDialog
          path={pending.path}
          coverage={pending.coverage}
          onCancel={() => setPending(undefined)}
          onDone={(fallback) => setFallback(pending, fallback)}
        />
      )}
      <Sheet
        title="Blocks"
        description="Choose one to move, copy or delete it."
        open={sheet === 'blocks'}
        onClose={() => setSheet(undefined)}
      >
        <OutlinePanel editor={editor} severities={severitiesOf(issues)} />
      </Sheet>
      <Sheet title="Settings" description="For the selected block" open={sheet === 'settings'} onClose={() => setSheet(undefined)}>
        <SettingsPanel editor={editor} issues={issues} onUpload={() => pickImage((file) => replaceImage(editor, file, uploadImages))} />
        {children}
      </Sheet>
    </>
  )
}

type SheetProps = { title: string; description: string; open: boolean; onClose: () => void; children: ReactNode }

/** At the bottom of a small screen. */
const Sheet = ({ title, description, open, onClose, children }: SheetProps) => (
  <Dialog title={title} description={description} open={open} onOpenChange={(isOpen) => !isOpen && onClose()}>
    <div className="-mx-2 max-h-[55dvh] overflow-y-auto">{children}</div>
  </Dialog>
)

/** ⌘K links the selected text. Without a selection it opens the palette, as everywhere. */
function useLinkKey(editor: Editor, open: () => void) {
  const latest = useRef(open)
  latest.current = open
  useEffect(() => {
    const { dom } = editor.view
    const onKey = (event: KeyboardEvent) => {
      if (!(event.metaKey || event.ctrlKey) || event.key.toLowerCase() !== 'k' || editor.state.selection.empty) return
      event.preventDefault()
      latest.current()
    }
    dom.addEventListener('keydown', onKey)
    return () => dom.removeEventListener('keydown', onKey)
  }, [editor])
}

/** Lets the user choose a picture. A click on an empty one does the same. */
function pickImage(onFile: (file: File) => void) {
  const input = document.createElement('input')
  input.type = 'file'
  input.accept = 'image/png,image/jpeg,image/gif,image/webp'
  input.onchange = () => input.files?.[0] && onFile(input.files[0])
  input.click()
}

/** Puts a picture into the chosen picture block, or below the chosen block. */
async function replaceImage(editor: Editor, file: File, uploadImages: UploadImages) {
  const chosen = chosenBlock(editor.state)
  if (chosen?.node.type.name !== 'image') return insertImages(editor, [file], uploadImages)
  const id = chosen.node.attrs.id
  const [stored] = await uploadImages([file])
  const now = chosenBlock(editor.state)
  if (stored && now && now.node.attrs.id === id)
    changeAttrs(editor.state, now.pos, { src: stored.url, isLogo: undefined }, editor.view.dispatch)
}

const RANK = { error: 2, warning: 1, info: 0 }

/** The worst issue of each block. */
function severitiesOf(issues: BlockIssue[]) {
  const worst: Record<string, BlockIssue['severity']> = {}
  for (const { blockId, severity } of issues) if (blockId && RANK[severity] >= RANK[worst[blockId] ?? 'info']) worst[blockId] = severity
  return worst
}

/** Blocks and settings beside the canvas, on large screens. */
function Side({ editor, issues, missing, uploadImages, children }: PartProps & { missing: string[]; children: ReactNode }) {
  const severities = useMemo(() => severitiesOf(issues), [issues])
  const pick = () => pickImage((file) => void replaceImage(editor, file, uploadImages))
  useEffect(() => {
    editor.view.dispatch(setCanvasMarks(editor.state, { issues: severities, missing }))
  }, [editor, severities, missing])
  useImageClick(editor, pick)
  return (
    <aside
      aria-label="Blocks and settings"
      className="sticky top-26 hidden max-h-[calc(100dvh-6.5rem)] min-w-0 flex-col self-start border-line border-l lg:flex"
    >
      <section aria-label="Structure" className="max-h-[40dvh] min-h-0 overflow-y-auto border-line border-b px-1">
        <p className="px-2 pt-2 font-medium text-muted text-xs">Structure</p>
        <OutlinePanel editor={editor} severities={severities} />
      </section>
      <section aria-label="Settings of the block" className="min-h-0 flex-1 overflow-y-auto">
        <SettingsPanel editor={editor} issues={issues} onUpload={pick} />
        {children}
      </section>
    </aside>
  )
}

/** A click on a picture that is not chosen yet asks for one. */
function useImageClick(editor: Editor, pick: () => void) {
  const latest = useRef(pick)
  latest.current = pick
  useEffect(() => {
    const { dom } = editor.view
    const onClick = (event: MouseEvent) => {
      const target = event.target as Element
      const block = target.closest('.email-note')?.closest('[data-block=image]')
      if (block && /"src":""/.test(block.getAttribute('data-attrs') ?? '') && !/"isLogo":true/.test(block.getAttribute('data-attrs') ?? ''))
        latest.current()
    }
    dom.addEventListener('click', onClick)
    return () => dom.removeEventListener('click', onClick)
  }, [editor])
}
