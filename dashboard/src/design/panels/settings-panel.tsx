import type { Editor } from '@tiptap/core'
import { NodeSelection } from '@tiptap/pm/state'
import { ChevronRight, CircleX, Info, TriangleAlert } from 'lucide-react'
import { useEditorValue } from '../canvas/use-editor-value.ts'
import { BLOCK_NAMES } from '../document/words.ts'
import { changeAttrs } from '../edit/block-commands.ts'
import { blocksAround, chosenVariable } from '../edit/chosen-block.ts'
import { BlockSettings } from './block-settings.tsx'
import { ItemActions } from './outline-panel.tsx'
import { VariableSettings } from './variable-settings.tsx'

export type BlockIssue = { blockId?: string; severity: 'error' | 'warning' | 'info'; message: string }

type SettingsPanelProps = { editor: Editor; issues: BlockIssue[]; onUpload: (pos: number) => void }

/** Settings of the chosen block, or of the chosen variable. */
export function SettingsPanel({ editor, issues, onUpload }: SettingsPanelProps) {
  const around = useEditorValue(editor, (state) =>
    blocksAround(state).map(({ pos, node }) => ({ pos, type: node.type.name, attrs: node.attrs, columns: node.childCount })),
  )
  const variable = useEditorValue(editor, (state) => {
    const found = chosenVariable(state)
    return found && { pos: found.pos, attrs: found.node.attrs }
  })
  const own = around.at(-1)
  const set = (pos: number) => (patch: Record<string, unknown>) => void changeAttrs(editor.state, pos, patch, editor.view.dispatch)
  if (variable) return <VariableSettings key={variable.pos} attrs={variable.attrs} onAttrs={set(variable.pos)} />
  if (!own) return <p className="p-3 text-muted text-ui">Click a block to see its settings.</p>
  const name = BLOCK_NAMES[own.type] ?? own.type
  const choose = (pos: number) => editor.view.dispatch(editor.state.tr.setSelection(NodeSelection.create(editor.state.doc, pos)))
  return (
    <div className="space-y-3 p-3">
      <div className="flex items-center justify-between gap-2">
        <p className="flex min-w-0 flex-wrap items-center gap-x-1 text-ui">
          {around.slice(0, -1).map(({ pos, type }) => (
            <span key={pos} className="flex items-center gap-1">
              <button type="button" className="link" onClick={() => choose(pos)}>
                {BLOCK_NAMES[type]}
              </button>
              <ChevronRight className="size-3 text-muted" aria-hidden="true" />
            </span>
          ))}
          <strong className="font-semibold">{name}</strong>
        </p>
        <ItemActions id={String(own.attrs.id)} label={name} editor={editor} />
      </div>
      <Issues issues={issues.filter(({ blockId }) => blockId === own.attrs.id)} />
      <BlockSettings
        key={String(own.attrs.id)}
        editor={editor}
        type={own.type}
        pos={own.pos}
        columns={own.columns}
        attrs={own.attrs}
        onAttrs={set(own.pos)}
        onUpload={() => onUpload(own.pos)}
      />
    </div>
  )
}

const ICONS = {
  error: <CircleX className="text-danger" aria-label="Error" />,
  warning: <TriangleAlert className="text-warning" aria-label="Warning" />,
  info: <Info className="text-info" aria-label="Hint" />,
}

function Issues({ issues }: { issues: BlockIssue[] }) {
  if (issues.length === 0) return null
  return (
    <ul aria-label="Issues of this block" className="space-y-1 rounded-md bg-sunken px-2 py-1.5">
      {issues.map(({ severity, message }) => (
        <li key={`${severity} ${message}`} className="flex items-start gap-2 text-ui [&>svg]:mt-0.5 [&>svg]:size-4 [&>svg]:shrink-0">
          {ICONS[severity]}
          <span className="min-w-0 wrap-break-word">{message}</span>
        </li>
      ))}
    </ul>
  )
}
