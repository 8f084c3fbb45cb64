import type { Design } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useRef } from 'react'
import { renderedDesignQuery } from '../data/templates.ts'
import type { DesignEditorHandle } from '../design/design-editor.tsx'
import { useProject } from '../projects/current.ts'
import { Banner } from '../ui/notice/banner.tsx'
import { explain } from '../ui/notice/explain.ts'
import type { CodeIssue } from './code-editor.tsx'
import { EditorLoading } from './code-part.tsx'
import { LintPanel } from './lint-panel.tsx'

const DesignEditor = lazy(() => import('../design/design-editor.tsx'))

const NO_ISSUES: CodeIssue[] = []

type VisualPartProps = {
  bar: ReactNode
  design: Design
  /** Shows the HTML of the design, to read. */
  showsCode: boolean
  onDesign: (design: Design) => void
  issues: CodeIssue[] | undefined
  missing: string[]
}

/** The email as blocks. */
export function VisualPart({ bar, design, showsCode, onDesign, issues, missing }: VisualPartProps) {
  const editor = useRef<DesignEditorHandle>(null)
  return (
    <section aria-label="Email" className="min-w-0 bg-surface">
      {bar}
      {showsCode ? (
        <RenderedCode design={design} />
      ) : (
        <Suspense fallback={<EditorLoading />}>
          <DesignEditor
            ref={editor}
            label="Email content"
            design={design}
            onChange={onDesign}
            issues={issues ?? NO_ISSUES}
            missing={missing}
          />
        </Suspense>
      )}
      <LintPanel issues={issues} onJump={({ blockId }) => blockId && editor.current?.choose(blockId)} />
    </section>
  )
}

function RenderedCode({ design }: { design: Design }) {
  const project = useProject()
  const rendered = useQuery(renderedDesignQuery(project.id, JSON.stringify(design)))
  if (rendered.error) return <Banner tone="danger">{explain(rendered.error)}</Banner>
  if (!rendered.data) return <EditorLoading />
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
    <pre className="max-h-[40rem] overflow-auto whitespace-pre-wrap wrap-break-word p-3 font-mono text-code" tabIndex={0}>
      {rendered.data.html}
    </pre>
  )
}
