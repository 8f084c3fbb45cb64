import type { Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { CircleOff } from 'lucide-react'
import type { ReactNode } from 'react'
import { workflowQuery } from '../../data/workflows.ts'
import { useProject } from '../../projects/current.ts'
import { RecordPage } from '../../projects/record-page.tsx'
import { StepsEditor } from './editor/steps-editor.tsx'
import { Executions } from './executions/executions.tsx'
import { NoSuchStep, Visits } from './executions/visits.tsx'
import { LiveWorkflow } from './modes/live.tsx'
import { TryWorkflow } from './modes/try.tsx'
import { WorkflowVersions } from './modes/versions.tsx'
import { WorkflowSettings } from './workflow-settings.tsx'

const MISSING = { icon: CircleOff, reason: 'It was deleted, or the link is wrong.' }

function OneWorkflow({ children }: { children: (workflow: Workflow) => ReactNode }) {
  const { workflowId } = useParams({ strict: false }) as { workflowId: string }
  const project = useProject()
  const query = useQuery(workflowQuery(project.id, workflowId))
  return (
    <RecordPage kind="Workflow" id={workflowId} query={query} labelOf={({ name }) => name} missing={MISSING}>
      {children}
    </RecordPage>
  )
}

export const WorkflowPage = () => <OneWorkflow>{(workflow) => <StepsEditor key={workflow.id} workflow={workflow} />}</OneWorkflow>

export const ExecutionsPage = () => <OneWorkflow>{(workflow) => <Executions key={workflow.id} workflow={workflow} />}</OneWorkflow>

export function VisitsPage() {
  const { stepId } = useParams({ strict: false }) as { stepId: string }
  return (
    <OneWorkflow>
      {(workflow) => {
        const step = workflow.steps.find(({ id }) => id === stepId)
        return step ? <Visits key={step.id} workflow={workflow} step={step} /> : <NoSuchStep workflow={workflow} />
      }}
    </OneWorkflow>
  )
}

export const TryWorkflowPage = () => <OneWorkflow>{(workflow) => <TryWorkflow key={workflow.id} workflow={workflow} />}</OneWorkflow>

export const LiveWorkflowPage = () => <OneWorkflow>{(workflow) => <LiveWorkflow key={workflow.id} workflow={workflow} />}</OneWorkflow>

export const WorkflowVersionsPage = () => (
  <OneWorkflow>{(workflow) => <WorkflowVersions key={workflow.id} workflow={workflow} />}</OneWorkflow>
)

export const WorkflowSettingsPage = () => (
  <OneWorkflow>{(workflow) => <WorkflowSettings key={workflow.id} workflow={workflow} />}</OneWorkflow>
)
