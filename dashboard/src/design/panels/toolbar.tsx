import type { Editor } from '@tiptap/core'
import type { EditorState } from '@tiptap/pm/state'
import {
  Bold,
  Braces,
  Italic,
  Link as LinkIcon,
  List,
  ListOrdered,
  type LucideIcon,
  Palette,
  Plus,
  Redo2,
  Smile,
  Strikethrough,
  Underline,
  Undo2,
} from 'lucide-react'
import { Toolbar as Radix } from 'radix-ui'
import { type ReactNode, useState } from 'react'
import { Menu, MenuItem } from '../../ui/dialog/menu.tsx'
import { Popover } from '../../ui/dialog/popover.tsx'
import { showKeys } from '../../ui/shortcuts/shortcuts.ts'
import { useEditorValue } from '../canvas/use-editor-value.ts'
import { insertBlock } from '../edit/block-commands.ts'
import { BLOCK_KINDS, type BlockKind } from '../edit/block-kinds.ts'
import { chosenBlock } from '../edit/chosen-block.ts'
import { EMOJI } from './emoji.ts'

const TOOL =
  'inline-flex h-8 min-w-8 shrink-0 items-center justify-center gap-1 rounded-md px-1.5 font-medium text-muted text-ui hover:bg-sunken hover:text-ink focus-visible:outline-2 disabled:opacity-40 aria-pressed:bg-accent-soft aria-pressed:text-ink pointer-coarse:h-11 pointer-coarse:min-w-11 [&>svg]:size-4'

type ToolProps = { label: string; keys?: string; icon: LucideIcon; pressed?: boolean; disabled?: boolean; onPress: () => void }

/** Keeps the selection of the text: the focus stays where it is. */
function Tool({ label, keys, icon: Icon, pressed, disabled = false, onPress }: ToolProps) {
  return (
    <Radix.Button
      className={TOOL}
      aria-label={label}
      title={keys ? `${label} (${showKeys(keys)})` : label}
      aria-pressed={pressed}
      disabled={disabled}
      onMouseDown={(event) => event.preventDefault()}
      onClick={onPress}
    >
      <Icon aria-hidden="true" />
    </Radix.Button>
  )
}

/** A tool that opens something: it takes the focus, and the canvas gets it back. */
const toolButton = (label: string, icon: ReactNode, words?: string) => (
  <Radix.Button className={TOOL} aria-label={label} title={label}>
    {icon}
    {words}
  </Radix.Button>
)

const MARKS = [
  { name: 'bold', label: 'Bold', keys: 'mod+b', icon: Bold },
  { name: 'italic', label: 'Italic', keys: 'mod+i', icon: Italic },
  { name: 'underline', label: 'Underline', keys: 'mod+u', icon: Underline },
  { name: 'strike', label: 'Strikethrough', icon: Strikethrough },
]
const STYLES: Record<string, string> = { text: 'Text', h1: 'Heading', h2: 'Subheading', h3: 'Small heading' }

const stateOf = (editor: Editor) => (state: EditorState) => {
  const { parent } = state.selection.$from
  const isText = parent.isTextblock && state.selection.empty !== undefined
  return {
    marks: Object.fromEntries([...MARKS.map(({ name }) => name), 'link'].map((name) => [name, editor.isActive(name)])),
    style: parent.type.name === 'heading' ? `h${parent.attrs.level}` : parent.type.name === 'paragraph' ? 'text' : undefined,
    isBullet: editor.isActive('bulletList'),
    isNumbered: editor.isActive('orderedList'),
    canUndo: editor.can().undo(),
    canRedo: editor.can().redo(),
    isText,
  }
}

type ToolbarProps = { editor: Editor; onLink: () => void; onVariable: () => void; onAdded: (kind: BlockKind) => void; children?: ReactNode }

export function EditorToolbar({ editor, onLink, onVariable, onAdded, children }: ToolbarProps) {
  const { marks, style, isBullet, isNumbered, canUndo, canRedo, isText } = useEditorValue(editor, stateOf(editor))
  const run = () => editor.chain().focus()
  return (
    <Radix.Root
      aria-label="Formatting"
      className="sticky top-12 z-10 flex lg:top-14 flex-wrap items-center gap-0.5 border-line border-b bg-surface px-2 py-1 max-md:flex-nowrap max-md:overflow-x-auto"
    >
      <AddBlock editor={editor} onAdded={onAdded} />
      <Gap />
      <Tool label="Undo" keys="mod+z" icon={Undo2} disabled={!canUndo} onPress={() => run().undo().run()} />
      <Tool label="Redo" icon={Redo2} disabled={!canRedo} onPress={() => run().redo().run()} />
      <Gap />
      <TextStyle editor={editor} style={style} />
      {MARKS.map(({ name, ...mark }) => (
        <Tool key={name} {...mark} pressed={marks[name] ?? false} disabled={!isText} onPress={() => run().toggleMark(name).run()} />
      ))}
      <TextColor editor={editor} />
      <Tool label="Link" keys="mod+k" icon={LinkIcon} pressed={marks.link ?? false} disabled={!isText} onPress={onLink} />
      <Gap />
      <Tool label="Bullet list" icon={List} pressed={isBullet} disabled={!isText} onPress={() => run().toggleBulletList().run()} />
      <Tool
        label="Numbered list"
        icon={ListOrdered}
        pressed={isNumbered}
        disabled={!isText}
        onPress={() => run().toggleOrderedList().run()}
      />
      <Gap />
      <Tool label="Insert a variable" icon={Braces} disabled={!isText} onPress={onVariable} />
      <EmojiPicker editor={editor} />
      <span className="sticky right-0 ml-auto flex items-center gap-1 bg-surface">{children}</span>
    </Radix.Root>
  )
}

const Gap = () => <span className="mx-1 h-5 w-px shrink-0 bg-line" aria-hidden="true" />

function AddBlock({ editor, onAdded }: { editor: Editor; onAdded: (kind: BlockKind) => void }) {
  function add(kind: BlockKind) {
    const { state, view } = editor
    insertBlock(state, state.schema.nodeFromJSON(kind.create()), chosenBlock(state), view.dispatch)
    onAdded(kind)
  }
  return (
    <Menu trigger={toolButton('Add a block', <Plus aria-hidden="true" />, 'Add')} onClosed={() => editor.view.focus()}>
      {BLOCK_KINDS.map((kind) => (
        <MenuItem key={kind.key} onSelect={() => add(kind)}>
          <kind.icon aria-hidden="true" />
          {kind.label}
          <span className="ml-auto pl-3 text-muted text-xs">{kind.hint}</span>
        </MenuItem>
      ))}
    </Menu>
  )
}

function TextStyle({ editor, style }: { editor: Editor; style: string | undefined }) {
  function choose(name: string) {
    const level = Number(name.slice(1))
    if (name === 'text') editor.chain().focus().setNode('paragraph').run()
    else editor.chain().focus().setNode('heading', { level }).run()
  }
  return (
    <Menu
      onClosed={() => editor.view.focus()}
      trigger={
        <Radix.Button className={`${TOOL} w-28 justify-start px-2`} aria-label="Text style" title="Text style" disabled={!style}>
          {(style && STYLES[style]) ?? 'Text'}
        </Radix.Button>
      }
    >
      {Object.entries(STYLES).map(([name, label]) => (
        <MenuItem key={name} onSelect={() => choose(name)}>
          {label}
        </MenuItem>
      ))}
    </Menu>
  )
}

const COLORS = {
  '#b3261e': 'Red',
  '#a35200': 'Orange',
  '#14603d': 'Green',
  '#0b6e82': 'Teal',
  '#2f5aa8': 'Blue',
  '#5b4bb5': 'Violet',
  '#50656f': 'Grey',
}

function TextColor({ editor }: { editor: Editor }) {
  const [open, setOpen] = useState(false)
  function set(color: string | undefined) {
    if (color) editor.chain().focus().setMark('color', { color }).run()
    else editor.chain().focus().unsetMark('color').run()
    setOpen(false)
  }
  return (
    <Popover
      onClosed={() => editor.view.focus()}
      label="Text colour"
      open={open}
      onOpenChange={setOpen}
      trigger={toolButton('Text colour', <Palette aria-hidden="true" />)}
    >
      <div className="flex flex-wrap gap-1 p-1">
        {Object.entries(COLORS).map(([color, name]) => (
          <button
            key={color}
            type="button"
            aria-label={name}
            title={name}
            className="size-8 rounded-md border border-line pointer-coarse:size-11"
            style={{ backgroundColor: color }}
            onClick={() => set(color)}
          />
        ))}
        <label className="flex h-8 items-center gap-1 px-1 text-xs">
          Other
          <input type="color" className="size-8" onChange={(event) => set(event.target.value)} />
        </label>
        <button type="button" className={TOOL} onClick={() => set(undefined)}>
          Default
        </button>
      </div>
    </Popover>
  )
}

/** Emoji are text like any other: mail programs draw them. */
function EmojiPicker({ editor }: { editor: Editor }) {
  const [open, setOpen] = useState(false)
  return (
    <Popover
      onClosed={() => editor.view.focus()}
      label="Emoji"
      open={open}
      onOpenChange={setOpen}
      trigger={toolButton('Emoji', <Smile aria-hidden="true" />)}
    >
      <div className="grid grid-cols-7 gap-0.5 p-1">
        {Object.entries(EMOJI).map(([emoji, name]) => (
          <button
            key={emoji}
            type="button"
            aria-label={name}
            title={name}
            className="flex size-8 items-center justify-center rounded-md text-lg hover:bg-sunken"
            onClick={() => {
              editor.chain().focus().insertContent({ type: 'text', text: emoji }).run()
              setOpen(false)
            }}
          >
            {emoji}
          </button>
        ))}
      </div>
    </Popover>
  )
}
