import { useQuery } from '@tanstack/react-query'
import { PanelRightClose, PanelRightOpen } from 'lucide-react'
import { lazy, Suspense, useMemo, useRef } from 'react'
import { type FindPeople, fieldsQuery } from '../data/contacts.ts'
import { EVERYONE } from '../people/people.ts'
import { useProject } from '../projects/current.ts'
import { usePreference } from '../session/preferences.ts'
import { IconButton } from '../ui/form/button.tsx'
import { showKeys, useShortcuts } from '../ui/shortcuts/shortcuts.ts'
import type { CodeEditorHandle, CodeIssue } from './code-editor.tsx'
import { fieldWords } from './completion.ts'
import type { ContentValues } from './content-values.ts'
import { LintPanel } from './lint-panel.tsx'
import { Preview, type PreviewView } from './preview.tsx'

const CodeEditor = lazy(() => import('./code-editor.tsx'))

const NO_ISSUES: CodeIssue[] = []

type ContentWorkspaceProps = {
  values: ContentValues
  onBody: (body: string) => void
  /** What the server found; undefined until its first answer. */
  issues: CodeIssue[] | undefined
  view: PreviewView
  onView: (view: PreviewView) => void
  /** Whom the preview offers: everyone, or the audience of a campaign. */
  people?: FindPeople
}

/** Code and preview side by side; one below the other on small screens. */
export function ContentWorkspace({ values, onBody, issues, view, onView, people = EVERYONE }: ContentWorkspaceProps) {
  const project = useProject()
  const editor = useRef<CodeEditorHandle>(null)
  const fields = useQuery(fieldsQuery(project.id)).data
  const variables = useMemo(() => fieldWords(fields ?? []), [fields])
  const [hasPreview, setHasPreview] = usePreference('template-preview', true)
  const toggle = () => setHasPreview(!hasPreview)
  useShortcuts([{ keys: 'mod+/', label: 'Show or hide the preview', group: 'Editor', run: toggle }])
  return (
    <div className={`grid grid-cols-1 border-line border-y ${hasPreview ? 'xl:grid-cols-2' : ''}`}>
      <section aria-label="Code" className="flex h-[32rem] min-w-0 flex-col bg-surface xl:h-[max(32rem,calc(100dvh-19rem))]">
        <div className="flex min-h-11 items-center justify-between border-line border-b px-3 text-muted text-xs">
          <span>
            HTML and <code className="font-mono">{'{{ variables }}'}</code>; type <code className="font-mono">{'{{'}</code> for a list
          </span>
          <IconButton label={hasPreview ? 'Hide the preview' : 'Show the preview'} hint={showKeys('mod+/')} onClick={toggle}>
            {hasPreview ? <PanelRightClose /> : <PanelRightOpen />}
          </IconButton>
        </div>
        <div className="min-h-0 flex-1">
          <Suspense fallback={<Loading />}>
            <CodeEditor
              ref={editor}
              label="Body"
              value={values.body}
              onChange={onBody}
              variables={variables}
              issues={issues ?? NO_ISSUES}
            />
          </Suspense>
        </div>
        <LintPanel issues={issues} onJump={(line) => editor.current?.goToLine(line)} />
      </section>
      {hasPreview && (
        <div className="h-[36rem] min-w-0 border-line max-xl:border-t xl:h-[max(32rem,calc(100dvh-19rem))] xl:border-l">
          <Preview values={values} view={view} onView={onView} people={people} />
        </div>
      )}
    </div>
  )
}

function Loading() {
  return (
    <p className="p-3 text-muted text-ui" role="status">
      Loading…
    </p>
  )
}
