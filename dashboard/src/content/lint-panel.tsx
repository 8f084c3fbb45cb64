import { CircleX, Info, TriangleAlert } from 'lucide-react'
import { countOf } from '../ui/text/count.tsx'
import type { CodeIssue } from './code-editor.tsx'

const ICONS = {
  error: <CircleX className="text-danger" aria-label="Error" />,
  warning: <TriangleAlert className="text-warning" aria-label="Warning" />,
  info: <Info className="text-info" aria-label="Hint" />,
}

/** The issues that the server found in the code. A click on one with a line or a block jumps there. */
export function LintPanel({ issues, onJump }: { issues: CodeIssue[] | undefined; onJump: (issue: CodeIssue) => void }) {
  return (
    <section aria-label="Issues" className="border-line border-t bg-surface text-ui">
      <p className="px-3 py-1.5 text-muted text-xs" role="status">
        {issues && (issues.length === 0 ? 'No issues found' : countOf(issues.length, { one: 'issue', many: 'issues' }))}
      </p>
      {issues && issues.length > 0 && (
        <ul className="max-h-36 overflow-y-auto pb-1">
          {issues.map((issue, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two issues may be equal in everything
            <li key={index} className="flex items-start gap-2 px-3 py-1 [&>svg]:mt-0.5 [&>svg]:size-4 [&>svg]:shrink-0">
              {ICONS[issue.severity]}
              <span className="min-w-0 flex-1 wrap-break-word">{issue.message}</span>
              {(issue.blockId ?? issue.line) !== undefined && (
                <button type="button" className="link shrink-0 text-xs" onClick={() => onJump(issue)}>
                  {issue.blockId ? 'Show the block' : `Line ${issue.line}`}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}
