import { PanelRightClose, PanelRightOpen } from 'lucide-react'
import { useState } from 'react'
import type { FindPeople } from '../data/contacts.ts'
import { EVERYONE } from '../people/people.ts'
import { usePreference } from '../session/preferences.ts'
import { IconButton } from '../ui/form/button.tsx'
import { showKeys, useShortcuts } from '../ui/shortcuts/shortcuts.ts'
import type { CodeIssue } from './code-editor.tsx'
import { CodePart } from './code-part.tsx'
import { type ContentChange, ModeSwitch } from './mode-switch.tsx'
import { Preview, type PreviewView } from './preview.tsx'
import type { ContentValues } from './values/content-values.ts'
import { VisualPart } from './visual-part.tsx'

type ContentWorkspaceProps = {
  values: ContentValues
  /** As it is stored. */
  saved: Pick<ContentValues, 'design' | 'body'>
  onContent: (change: ContentChange) => void
  /** Issues that the server found; undefined until its first answer. */
  issues: CodeIssue[] | undefined
  view: PreviewView
  onView: (view: PreviewView) => void
  /** The contacts that the preview offers: all, or the audience of a campaign. */
  people?: FindPeople
}

/** The email, as blocks or as code, and its preview side by side; one below the other on small screens. */
export function ContentWorkspace({ values, saved, onContent, issues, view, onView, people = EVERYONE }: ContentWorkspaceProps) {
  const [hasPreview, setHasPreview] = usePreference('template-preview', true)
  const [missing, setMissing] = useState<string[]>([])
  const [showsCode, setShowsCode] = useState(false)
  const isVisual = Boolean(values.design)
  const toggle = () => setHasPreview(!hasPreview)
  useShortcuts([{ keys: 'mod+/', label: 'Show or hide the preview', group: 'Editor', run: toggle }])
  const columns = isVisual ? 'xl:grid-cols-[minmax(0,1fr)_26rem]' : 'xl:grid-cols-2'
  const bar = (
    <div className="flex min-h-11 flex-wrap items-center justify-between gap-2 border-line border-b bg-surface px-3 text-muted text-xs">
      <ModeSwitch values={values} saved={saved} onContent={onContent} showsCode={showsCode} onShowCode={setShowsCode} />
      <IconButton label={hasPreview ? 'Hide the preview' : 'Show the preview'} hint={showKeys('mod+/')} onClick={toggle}>
        {hasPreview ? <PanelRightClose /> : <PanelRightOpen />}
      </IconButton>
    </div>
  )
  return (
    <div className={`grid grid-cols-1 border-line border-y ${hasPreview ? columns : ''}`}>
      {values.design ? (
        <VisualPart
          bar={bar}
          design={values.design}
          showsCode={showsCode}
          onDesign={(design) => onContent({ design })}
          issues={issues}
          missing={missing}
        />
      ) : (
        <CodePart bar={bar} body={values.body} onBody={(body) => onContent({ body })} issues={issues} />
      )}
      {hasPreview && (
        <div
          className={`min-w-0 border-line max-xl:border-t xl:border-l ${isVisual ? 'h-[36rem] xl:sticky xl:top-14 xl:h-[calc(100dvh-3.5rem)] xl:self-start' : 'h-[36rem] xl:h-[max(32rem,calc(100dvh-19rem))]'}`}
        >
          <Preview values={values} view={view} onView={onView} people={people} onMissing={setMissing} />
        </div>
      )}
    </div>
  )
}
