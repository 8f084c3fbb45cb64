import { TriangleAlert } from 'lucide-react'
import { stepById } from '../graph/graph.ts'
import { useEditor } from './use-editing.ts'

/** The problems of the steps. Each opens its step. */
export function ProblemList() {
  const { graph, problems, warnings, refused, choose } = useEditor()
  const all = new Map([...warnings, ...problems, ...refused])
  if (all.size === 0) return null
  return (
    <ul aria-label="Problems" className="mb-4 space-y-1 rounded-lg bg-warning-soft px-3 py-2 text-ui text-warning">
      {[...all].map(([stepId, message]) => (
        <li key={stepId} className="flex gap-2">
          <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
          <button type="button" className="rounded-sm text-left hover:underline hover:underline-offset-4" onClick={() => choose(stepId)}>
            <span className="font-medium">{stepById(graph, stepId)?.name}:</span> {message}
          </button>
        </li>
      ))}
    </ul>
  )
}
