import { useQuery } from '@tanstack/react-query'
import type { Editor } from '@tiptap/core'
import { type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { fieldsQuery } from '../../data/contacts.ts'
import { useProject } from '../../projects/current.ts'
import { dismissMenu, type TypedQuery, typedQuery } from '../canvas/typed-menu.ts'
import { useEditorValue } from '../canvas/use-editor-value.ts'
import { type BlockKind, findKinds } from '../edit/block-kinds.ts'
import { fieldChoices } from './field-choices.ts'

type Choice = { key: string; label: string; detail: string; icon?: ReactNode; run: () => void }
type TypedMenuPopupProps = {
  editor: Editor
  onBlock: (kind: BlockKind, typed: TypedQuery) => void
  onField: (field: { path: string; coverage: number | undefined }, typed: TypedQuery) => void
}

/** The menu at the cursor while `/` or `{{` is typed. The focus stays in the text; arrows, Enter and Escape belong to the menu. */
export function TypedMenuPopup({ editor, onBlock, onField }: TypedMenuPopupProps) {
  const project = useProject()
  const typed = useEditorValue(editor, typedQuery)
  const fields = useQuery({ ...fieldsQuery(project.id), enabled: typed?.kind === 'field' }).data
  if (!typed) return null
  const choices: Choice[] =
    typed.kind === 'block'
      ? findKinds(typed.query).map((kind) => ({
          key: kind.key,
          label: kind.label,
          detail: kind.hint,
          icon: <kind.icon aria-hidden="true" />,
          run: () => onBlock(kind, typed),
        }))
      : fieldChoices(fields ?? [], typed.query).map(({ path, detail, coverage }) => ({
          key: path,
          label: path,
          detail,
          run: () => onField({ path, coverage }, typed),
        }))
  if (choices.length === 0) return null
  return <Popup key={typed.kind} editor={editor} label={typed.kind === 'block' ? 'Blocks' : 'Fields'} typed={typed} choices={choices} />
}

type PopupProps = { editor: Editor; label: string; typed: TypedQuery; choices: Choice[] }

function Popup({ editor, label, typed, choices }: PopupProps) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState(0)
  const active = Math.min(at, choices.length - 1)
  useMenuKeys(editor, {
    ArrowDown: () => setAt((active + 1) % choices.length),
    ArrowUp: () => setAt((active + choices.length - 1) % choices.length),
    Enter: () => choices[active]?.run(),
    Tab: () => choices[active]?.run(),
    Escape: () => editor.view.dispatch(dismissMenu(editor.state)),
  })
  usePlace(list, editor, typed.from)
  useEffect(() => {
    const { dom } = editor.view
    dom.setAttribute('aria-controls', id)
    dom.setAttribute('aria-activedescendant', `${id}-${active}`)
    list.current?.querySelector(`[id="${id}-${active}"]`)?.scrollIntoView({ block: 'nearest' })
    return () => {
      dom.removeAttribute('aria-controls')
      dom.removeAttribute('aria-activedescendant')
    }
  }, [editor, id, active])
  return createPortal(
    <div
      ref={list}
      id={id}
      role="listbox"
      aria-label={label}
      // Also above an open dialog, which keeps the pointer from everything outside.
      className="pointer-events-auto fixed z-50 max-h-72 w-72 overflow-y-auto rounded-lg border border-line bg-surface p-1 text-ui shadow-float"
    >
      {choices.map(({ key, label: name, detail, icon, run }, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text, see above
        // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text
        <div
          key={key}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === active}
          className="flex min-h-8 cursor-pointer items-center gap-2 rounded-md px-2 aria-selected:bg-accent-soft pointer-coarse:min-h-11 [&>svg]:size-4 [&>svg]:shrink-0 [&>svg]:text-muted"
          onMouseDown={(event) => event.preventDefault()}
          onMouseMove={() => setAt(index)}
          onClick={run}
        >
          {icon}
          <span className="truncate">{name}</span>
          <span className="ml-auto shrink-0 pl-3 text-muted text-xs">{detail}</span>
        </div>
      ))}
    </div>,
    document.body,
  )
}

/** Keys of the open menu come before those of the text. */
function useMenuKeys(editor: Editor, keys: Record<string, () => void>) {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    editor.storage.typedMenu.onKey = (event) => {
      const run = latest.current[event.key]
      run?.()
      return run !== undefined
    }
    return () => {
      editor.storage.typedMenu.onKey = null
    }
  }, [editor])
}

const MENU_HEIGHT = 288
const GAP = 6

/** Below the cursor, or above it where there is no room. */
function usePlace(element: { current: HTMLElement | null }, editor: Editor, pos: number) {
  useLayoutEffect(() => {
    function place() {
      if (!element.current || editor.isDestroyed) return
      const { left, top, bottom } = editor.view.coordsAtPos(Math.min(pos, editor.state.doc.content.size))
      const height = Math.min(element.current.offsetHeight, MENU_HEIGHT)
      const isBelow = bottom + GAP + height <= window.innerHeight
      element.current.style.left = `${Math.max(8, Math.min(left, window.innerWidth - element.current.offsetWidth - 8))}px`
      element.current.style.top = `${isBelow ? bottom + GAP : Math.max(8, top - GAP - height)}px`
    }
    place()
    window.addEventListener('scroll', place, true)
    window.addEventListener('resize', place)
    return () => {
      window.removeEventListener('scroll', place, true)
      window.removeEventListener('resize', place)
    }
  })
}
