import type { Editor } from '@tiptap/core'
import { NodeSelection } from '@tiptap/pm/state'
import { GripVertical } from 'lucide-react'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { isBlock } from '../edit/chosen-block.ts'

type Place = { pos: number; top: number; left: number }

/** The block below the pointer: the innermost that is not a text of a list. */
function blockBelow(editor: Editor, desk: HTMLElement, event: MouseEvent): Place | undefined {
  const canvas = editor.view.dom.getBoundingClientRect()
  // The handle stands beside the block: left of the canvas the block at the same height is meant.
  const left = Math.min(Math.max(event.clientX, canvas.left + 30), canvas.right - 8)
  const found = editor.view.posAtCoords({ left, top: event.clientY })
  if (!found) return undefined
  const $pos = editor.state.doc.resolve(found.inside >= 0 ? found.inside : found.pos)
  const own = found.inside >= 0 ? editor.state.doc.nodeAt(found.inside) : null
  const depth = own && isBlock(own, $pos.parent) ? undefined : innermostBlock($pos)
  if (depth === 0) return undefined
  const pos = depth === undefined ? found.inside : $pos.before(depth)
  const element = editor.view.nodeDOM(pos)
  if (!(element instanceof HTMLElement)) return undefined
  const [box, around] = [element.getBoundingClientRect(), desk.getBoundingClientRect()]
  return { pos, top: box.top - around.top + desk.scrollTop, left: Math.max(2, box.left - around.left - HANDLE_PX) }
}

function innermostBlock($pos: ReturnType<Editor['state']['doc']['resolve']>): number {
  for (let depth = $pos.depth; depth > 0; depth--) if (isBlock($pos.node(depth), $pos.node(depth - 1))) return depth
  return 0
}

const HANDLE_PX = 24

/** A handle at the block below the pointer: to drag the block, or to choose it. Keyboards have Alt+arrows and the list of blocks. */
export function DragHandle({ editor, desk }: { editor: Editor; desk: RefObject<HTMLDivElement | null> }) {
  const [place, setPlace] = useState<Place>()
  const frame = useRef(0)
  useEffect(() => {
    const element = desk.current
    if (!element) return
    const look = (event: MouseEvent) => {
      cancelAnimationFrame(frame.current)
      frame.current = requestAnimationFrame(() => {
        const found = editor.isDestroyed ? undefined : blockBelow(editor, element, event)
        setPlace((last) => (last?.pos === found?.pos && last?.top === found?.top ? last : found))
      })
    }
    const hide = () => setPlace(undefined)
    element.addEventListener('mousemove', look)
    element.addEventListener('mouseleave', hide)
    editor.on('update', hide)
    return () => {
      cancelAnimationFrame(frame.current)
      element.removeEventListener('mousemove', look)
      element.removeEventListener('mouseleave', hide)
      editor.off('update', hide)
    }
  }, [editor, desk])
  if (!place) return null
  const choose = () => editor.view.dispatch(editor.state.tr.setSelection(NodeSelection.create(editor.state.doc, place.pos)))
  return (
    <button
      type="button"
      tabIndex={-1}
      draggable
      aria-hidden="true"
      title="Drag to move, click to choose"
      className="absolute flex h-7 w-6 cursor-grab items-center justify-center rounded text-[#50656f] hover:bg-[#10222c]/10 pointer-coarse:hidden"
      style={{ top: place.top, left: place.left }}
      onClick={choose}
      onDragStart={(event) => {
        choose()
        const { selection } = editor.state
        const slice = selection.content()
        const { dom, text } = editor.view.serializeForClipboard(slice)
        event.dataTransfer.clearData()
        event.dataTransfer.setData('text/html', dom.innerHTML)
        event.dataTransfer.setData('text/plain', text)
        event.dataTransfer.effectAllowed = 'copyMove'
        const shown = editor.view.nodeDOM(place.pos)
        if (shown instanceof HTMLElement) event.dataTransfer.setDragImage(shown, 0, 0)
        // ProseMirror moves what it finds here when the block is dropped.
        editor.view.dragging = { slice, move: true }
      }}
    >
      <GripVertical className="size-4" />
    </button>
  )
}
