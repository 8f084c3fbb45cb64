import type { Result } from '@sterna/sdk'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useProject } from '../../../projects/current.ts'
import { formatCount } from '../../../ui/text/count.tsx'
import type { Step } from '../graph/graph.ts'

export type WorkflowFigures = Result<'GET /workflows/{id}/stats'>

type Figures = WorkflowFigures['steps'][number]
type Counted = { step: Pick<Step, 'id' | 'type'>; workflowId: string }

/** Counts of the saved graph. Each opens the list that adds up to it. */
export function StepCounts({ step, workflowId, stats }: Counted & { stats: WorkflowFigures | undefined }) {
  const figures = figuresOf(stats, step.id)
  if (!figures) return null
  return (
    <span className="relative z-10 flex shrink-0 flex-wrap justify-end gap-x-3 text-xs max-sm:max-w-32">
      <FigureLinks step={step} workflowId={workflowId} figures={figures} />
    </span>
  )
}

/** Undefined for a step that no contact has reached. */
export function figuresOf(stats: WorkflowFigures | undefined, stepId: string): Figures | undefined {
  const found = stats?.steps.find((each) => each.stepId === stepId)
  return found && found.entered > 0 ? found : undefined
}

export function FigureLinks({ step, workflowId, figures }: Counted & { figures: Figures }) {
  const visits = { workflowId, stepId: step.id }
  return (
    <>
      {step.type === 'TRIGGER' ? (
        <ExecutionCount workflowId={workflowId} search={{}} value={figures.entered} word="entered" />
      ) : (
        <VisitCount {...visits} value={figures.entered} />
      )}
      {figures.waiting > 0 && (
        <ExecutionCount workflowId={workflowId} search={{ step: step.id, status: 'WAITING' }} value={figures.waiting} word="here now" />
      )}
      {figures.skipped > 0 && <VisitCount {...visits} outcome="skipped" value={figures.skipped} />}
      {figures.cancelled > 0 && <VisitCount {...visits} outcome="cancelled" value={figures.cancelled} />}
      {figures.failed > 0 && <VisitCount {...visits} outcome="failed" value={figures.failed} />}
    </>
  )
}

const COUNT_LINK = 'inline-block min-h-6 rounded-sm py-1 tabular-nums hover:underline hover:underline-offset-4'
const COUNT_COLOR = 'text-accent dark:text-accent-strong'

type ExecutionCountProps = { workflowId: string; search: Record<string, string>; value: number; word: string }

function ExecutionCount({ workflowId, search, value, word }: ExecutionCountProps): ReactNode {
  const project = useProject()
  return (
    <Link
      to="/app/p/$projectId/workflows/$workflowId/executions"
      params={{ projectId: project.id, workflowId }}
      search={search}
      className={`${COUNT_LINK} ${COUNT_COLOR}`}
    >
      {formatCount(value)} {word}
    </Link>
  )
}

type VisitCountProps = { workflowId: string; stepId: string; outcome?: 'skipped' | 'cancelled' | 'failed'; value: number }

function VisitCount({ workflowId, stepId, outcome, value }: VisitCountProps): ReactNode {
  const project = useProject()
  return (
    <Link
      to="/app/p/$projectId/workflows/$workflowId/steps/$stepId"
      params={{ projectId: project.id, workflowId, stepId }}
      search={outcome ? { outcome } : {}}
      className={`${COUNT_LINK} ${outcome === 'failed' ? 'text-danger' : COUNT_COLOR}`}
    >
      {formatCount(value)} {outcome ?? 'reached'}
    </Link>
  )
}
