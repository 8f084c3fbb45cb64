import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleDot } from 'lucide-react'
import { segmentNamesQuery } from '../../../data/segments.ts'
import { useProject } from '../../../projects/current.ts'
import { buttonClass } from '../../../ui/form/button.tsx'
import { describeStart } from './describe.ts'
import type { StepFormProps, StepView } from './step-view.ts'

export const triggerView: StepView = {
  word: 'Start',
  Icon: CircleDot,
  describe: () => '',
  Form: TriggerFacts,
  Result: () => null,
}

function TriggerFacts({ workflow }: StepFormProps) {
  const project = useProject()
  const segments = useQuery(segmentNamesQuery(project.id)).data ?? {}
  return (
    <div className="space-y-3">
      <p className="text-muted text-ui">{describeStart(workflow, segments)}</p>
      <Link
        to="/app/p/$projectId/workflows/$workflowId/settings"
        params={{ projectId: project.id, workflowId: workflow.id }}
        className={buttonClass('secondary', 'sm')}
      >
        Change what starts it
      </Link>
    </div>
  )
}
