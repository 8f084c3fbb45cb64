import type { Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { workflowVersionQuery, workflowVersionsQuery } from '../../../data/workflows.ts'
import { useProject } from '../../../projects/current.ts'
import { buttonClass } from '../../../ui/form/button.tsx'
import { Badge } from '../../../ui/text/badge.tsx'
import { countOf } from '../../../ui/text/count.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { DifferenceCanvas } from '../canvas/difference-canvas.tsx'
import { ShownSteps } from '../canvas/shown-steps.tsx'
import { graphOf } from '../graph/graph.ts'
import { ModeFrame } from './mode-frame.tsx'

const ROUTE = '/app/p/$projectId/workflows/$workflowId/versions'
const STEPS = { one: 'step', many: 'steps' }

/** Every version of the steps: its author, its time, and its differences to the current one. */
export function WorkflowVersions({ workflow }: { workflow: Workflow }) {
  const project = useProject()
  const navigate = useNavigate()
  const { version } = useSearch({ from: ROUTE })
  const versions = useQuery(workflowVersionsQuery(project.id, workflow.id)).data ?? []
  const chosen = versions.find((each) => each.version === version)
  const panel = (
    <ul aria-label="Versions" className="space-y-1">
      {versions.map((each) => (
        <li key={each.version} className="rounded-lg border border-line p-2 text-ui">
          <button
            type="button"
            aria-pressed={each.version === version}
            className="block w-full rounded-sm text-left"
            onClick={() => navigate({ to: '.', search: { version: each.version } as never, replace: true, resetScroll: false })}
          >
            <span className="font-medium">Version {each.version}</span> {each.isCurrent && <Badge>current</Badge>}
            <span className="block text-muted text-xs">
              {each.savedBy ?? 'By the API'}, <Time value={each.savedAt} /> · {countOf(each.steps, STEPS)}
            </span>
          </button>
          {each.version === version && !each.isCurrent && (
            <Link
              to="/app/p/$projectId/workflows/$workflowId"
              params={{ projectId: project.id, workflowId: workflow.id }}
              search={{ restore: each.version } as never}
              className={`${buttonClass('secondary', 'sm')} mt-2`}
            >
              Restore version {each.version}…
            </Link>
          )}
        </li>
      ))}
    </ul>
  )
  return (
    <ModeFrame workflow={workflow} label="Versions" panel={panel}>
      {chosen && !chosen.isCurrent ? <SinceVersion workflow={workflow} version={chosen.version} /> : <CurrentSteps workflow={workflow} />}
    </ModeFrame>
  )
}

function CurrentSteps({ workflow }: { workflow: Workflow }) {
  const graph = useMemo(() => graphOf(workflow), [workflow])
  return <ShownSteps label="Steps of the current version" workflow={workflow} graph={graph} />
}

function SinceVersion({ workflow, version }: { workflow: Workflow; version: number }) {
  const project = useProject()
  const old = useQuery(workflowVersionQuery(project.id, workflow.id, version)).data
  const before = useMemo(() => old && graphOf(old), [old])
  const after = useMemo(() => graphOf(workflow), [workflow])
  if (!before) return null
  return (
    <DifferenceCanvas
      workflow={workflow}
      before={before}
      after={after}
      caption={`What has changed since version ${version}: added, changed and removed steps.`}
    />
  )
}
