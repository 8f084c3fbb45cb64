import type { Editor } from '@tiptap/core'
import { type EditorState, NodeSelection, type Transaction } from '@tiptap/pm/state'
import { ArrowDown, ArrowUp, CircleX, Copy, Trash2, TriangleAlert } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { IconButton } from '../../ui/form/button.tsx'
import { useEditorValue } from '../canvas/use-editor-value.ts'
import { canMove, deleteBlock, duplicateBlock, moveBlock } from '../edit/block-commands.ts'
import { blockWithId, chosenBlock, type PlacedBlock } from '../edit/chosen-block.ts'
import { blockOutlineOf, type OutlineItem } from '../edit/outline.ts'

const UPDATE_AFTER_MS = 150

/** The tree of the blocks, a moment after the last change: typing must not wait for it. */
function useOutline(editor: Editor): OutlineItem[] {
  const [outline, setOutline] = useState(() => blockOutlineOf(editor.state.doc))
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>
    setOutline(blockOutlineOf(editor.state.doc))
    const update = ({ transaction }: { transaction: { docChanged: boolean } }) => {
      if (!transaction.docChanged) return
      clearTimeout(timer)
      timer = setTimeout(() => !editor.isDestroyed && setOutline(blockOutlineOf(editor.state.doc)), UPDATE_AFTER_MS)
    }
    editor.on('transaction', update)
    return () => {
      clearTimeout(timer)
      editor.off('transaction', update)
    }
  }, [editor])
  return outline
}

/** Selects a block and scrolls to it. */
export function chooseBlock(editor: Editor, id: string) {
  const block = blockWithId(editor.state.doc, id)
  if (!block) return
  const { tr, doc } = editor.state
  editor.view.dispatch(tr.setSelection(NodeSelection.create(doc, block.pos)).scrollIntoView())
}

type Severities = Record<string, 'error' | 'warning' | 'info'>
type OutlinePanelProps = { editor: Editor; severities: Severities }

/** The blocks as a list: to find, move, copy and delete them without a mouse. */
export function OutlinePanel({ editor, severities }: OutlinePanelProps) {
  const outline = useOutline(editor)
  const chosen = useEditorValue(editor, (state) => chosenBlock(state)?.node.attrs.id as string | undefined)
  return (
    <ul aria-label="Blocks" className="py-1">
      {outline.map((item) => (
        <Item
          key={item.id}
          item={item}
          level={0}
          editor={editor}
          chosen={chosen}
          severities={severities}
          onChoose={(id) => chooseBlock(editor, id)}
        />
      ))}
    </ul>
  )
}

type ItemProps = {
  item: OutlineItem
  level: number
  editor: Editor
  chosen: string | undefined
  severities: Severities
  onChoose: (id: string) => void
}

function Item({ item, level, editor, chosen, severities, onChoose }: ItemProps) {
  const { id, type, label, children } = item
  const isChosen = id === chosen
  const line = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isChosen) scrollWithin(line.current)
  }, [isChosen])
  return (
    <li>
      <div
        ref={line}
        className={`flex min-h-8 items-center gap-1 rounded-md pr-1 hover:bg-sunken/70 pointer-coarse:min-h-11 ${isChosen ? 'bg-accent-soft/60' : ''}`}
        style={{ paddingLeft: `${8 + level * 14}px` }}
      >
        {type === 'column' ? (
          <span className="truncate text-muted text-xs">{label}</span>
        ) : (
          <button
            type="button"
            className="min-w-0 flex-1 truncate py-1 text-left text-ui"
            aria-current={isChosen || undefined}
            title={label}
            onClick={() => onChoose(id)}
          >
            {label}
          </button>
        )}
        <IssueMark severity={severities[id]} />
        {isChosen && <ItemActions id={id} label={label} editor={editor} />}
      </div>
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <Item
              key={child.id}
              item={child}
              level={level + 1}
              editor={editor}
              chosen={chosen}
              severities={severities}
              onChoose={onChoose}
            />
          ))}
        </ul>
      )}
    </li>
  )
}

/** Shows the line in its list. The page stays where it is: somebody is writing. */
function scrollWithin(line: HTMLElement | null) {
  const list = line?.closest('section')
  if (!line || !list) return
  const [own, around] = [line.getBoundingClientRect(), list.getBoundingClientRect()]
  if (own.top < around.top) list.scrollTop -= around.top - own.top
  if (own.bottom > around.bottom) list.scrollTop += own.bottom - around.bottom
}

function IssueMark({ severity }: { severity: 'error' | 'warning' | 'info' | undefined }) {
  if (severity === 'error') return <CircleX className="size-4 shrink-0 text-danger" aria-label="Error" />
  return severity === 'warning' ? <TriangleAlert className="size-4 shrink-0 text-warning" aria-label="Warning" /> : null
}

const SMALL = 'size-7'

type Command = (state: EditorState, block: PlacedBlock, dispatch: (tr: Transaction) => void) => boolean

/** Actions on the selected block. */
export function ItemActions({ id, label, editor }: { id: string; label: string; editor: Editor }) {
  const block = blockWithId(editor.state.doc, id)
  if (!block) return null
  // The state of the click, not of the last rendering.
  const run = (command: Command) => () => {
    const found = blockWithId(editor.state.doc, id)
    if (found) command(editor.state, found, editor.view.dispatch)
  }
  const can = (direction: 'up' | 'down') => canMove(editor.state, block, direction)
  return (
    <span className="flex shrink-0">
      <IconButton className={SMALL} label={`Move up: ${label}`} disabled={!can('up')} onClick={run((...args) => moveBlock('up', ...args))}>
        <ArrowUp />
      </IconButton>
      <IconButton
        className={SMALL}
        label={`Move down: ${label}`}
        disabled={!can('down')}
        onClick={run((...args) => moveBlock('down', ...args))}
      >
        <ArrowDown />
      </IconButton>
      <IconButton className={SMALL} label={`Duplicate: ${label}`} onClick={run(duplicateBlock)}>
        <Copy />
      </IconButton>
      <IconButton className={SMALL} label={`Delete: ${label}`} onClick={run(deleteBlock)}>
        <Trash2 />
      </IconButton>
    </span>
  )
}
