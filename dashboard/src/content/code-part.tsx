import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useMemo, useRef } from 'react'
import { fieldsQuery } from '../data/contacts.ts'
import { useProject } from '../projects/current.ts'
import type { CodeEditorHandle, CodeIssue } from './code-editor.tsx'
import { fieldWords } from './completion.ts'
import { LintPanel } from './lint-panel.tsx'

const CodeEditor = lazy(() => import('./code-editor.tsx'))

const NO_ISSUES: CodeIssue[] = []

type CodePartProps = { bar: ReactNode; body: string; onBody: (body: string) => void; issues: CodeIssue[] | undefined }

/** The email as HTML. */
export function CodePart({ bar, body, onBody, issues }: CodePartProps) {
  const project = useProject()
  const editor = useRef<CodeEditorHandle>(null)
  const fields = useQuery(fieldsQuery(project.id)).data
  const variables = useMemo(() => fieldWords(fields ?? []), [fields])
  return (
    <section aria-label="Code" className="flex h-[32rem] min-w-0 flex-col bg-surface xl:h-[max(32rem,calc(100dvh-19rem))]">
      {bar}
      <div className="min-h-0 flex-1">
        <Suspense fallback={<EditorLoading />}>
          <CodeEditor ref={editor} label="Body" value={body} onChange={onBody} variables={variables} issues={issues ?? NO_ISSUES} />
        </Suspense>
      </div>
      <LintPanel issues={issues} onJump={({ line }) => line !== undefined && editor.current?.goToLine(line)} />
    </section>
  )
}

export function EditorLoading() {
  return (
    <p className="p-3 text-muted text-ui" role="status">
      Loading…
    </p>
  )
}
