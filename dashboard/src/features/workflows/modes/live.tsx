import type { Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { executionQuery, recentExecutionsQuery, workflowStatsQuery, workflowVersionQuery } from '../../../data/workflows.ts'
import { PersonPicker } from '../../../people/person-picker.tsx'
import { useProject } from '../../../projects/current.ts'
import { Button } from '../../../ui/form/button.tsx'
import { formatCount, formatPercent } from '../../../ui/text/count.tsx'
import { Status } from '../../../ui/text/status.tsx'
import { Time } from '../../../ui/text/time.tsx'
import type { EdgeMarks } from '../canvas/edge-layer.tsx'
import { placeKey } from '../canvas/layout/geometry.ts'
import { layoutFlow } from '../canvas/layout/layout.ts'
import { ShownSteps } from '../canvas/shown-steps.tsx'
import { ExecutionPeek } from '../executions/execution-peek.tsx'
import { flowOf } from '../graph/flow.ts'
import { type Graph, graphOf, stepById } from '../graph/graph.ts'
import { figuresOf, StepCounts, type WorkflowFigures } from '../steps/step-counts.tsx'
import { useTextsOf } from '../steps/step-texts.ts'
import { ModeFrame } from './mode-frame.tsx'
import { pathMarks } from './path-marks.ts'

const ROUTE = '/app/p/$projectId/workflows/$workflowId/live'

/** Counts of contacts by step and by edge, and the path of one contact. */
export function LiveWorkflow({ workflow }: { workflow: Workflow }) {
  const { execution } = useSearch({ from: ROUTE })
  const graph = useMemo(() => graphOf(workflow), [workflow])
  return (
    <ModeFrame
      workflow={workflow}
      label="Contacts"
      panel={execution ? <OnePerson workflow={workflow} id={execution} /> : <Everyone workflow={workflow} graph={graph} />}
    >
      {execution ? <PersonPath workflow={workflow} id={execution} /> : <Figures workflow={workflow} graph={graph} />}
    </ModeFrame>
  )
}

function Figures({ workflow, graph }: { workflow: Workflow; graph: Graph }) {
  const project = useProject()
  const stats = useQuery(workflowStatsQuery(project.id, workflow.id)).data
  const marks = useMemo(() => ({ figuresOf: (id: string) => figuresOf(stats, id) }), [stats])
  const edgeMarks = useMemo(() => countsOfEdges(project.id, workflow.id, graph, stats), [project.id, workflow.id, graph, stats])
  return <ShownSteps label="Figures of the workflow" workflow={workflow} graph={graph} marks={marks} edgeMarks={edgeMarks} />
}

/** The number on an edge opens the visits after which an execution took it. */
function countsOfEdges(projectId: string, workflowId: string, { transitions }: Graph, stats: WorkflowFigures | undefined): EdgeMarks {
  const taken = new Map(stats?.transitions.map((each) => [each.transitionId, each.taken]))
  const byPlace = new Map(transitions.map((each) => [placeKey(each), { ...each, taken: taken.get(each.id) ?? 0 }]))
  const totalOf = (stepId: string) => [...byPlace.values()].reduce((sum, each) => (each.fromStepId === stepId ? sum + each.taken : sum), 0)
  return ({ place }) => {
    const way = byPlace.get(placeKey(place))
    if (!way || way.taken === 0) return undefined
    const total = totalOf(way.fromStepId)
    const share = total > way.taken ? ` · ${formatPercent(way.taken / total)}` : ''
    const note = (
      <Link
        to="/app/p/$projectId/workflows/$workflowId/steps/$stepId"
        params={{ projectId, workflowId, stepId: way.fromStepId }}
        search={{ next: way.toStepId } as never}
        className="inline-block min-h-6 rounded-sm py-1 text-accent tabular-nums hover:underline dark:text-accent-strong"
      >
        {formatCount(way.taken)}
        {share}
      </Link>
    )
    return { note }
  }
}

function Everyone({ workflow, graph }: { workflow: Workflow; graph: Graph }) {
  const project = useProject()
  const navigate = useNavigate()
  const stats = useQuery(workflowStatsQuery(project.id, workflow.id)).data
  const recent = useQuery(recentExecutionsQuery(project.id, workflow.id, undefined)).data ?? []
  const show = (execution: string | undefined) =>
    navigate({ to: '.', search: { ...(execution && { execution }) } as never, resetScroll: false })
  return (
    <>
      <p className="text-muted text-ui">Each number opens its list. Choose a person to see the path.</p>
      {stats && stats.started > stats.executions && (
        <p className="text-muted text-ui">
          Numbers on arrows count all {formatCount(stats.started)} executions so far. Their lists have those that are still kept,{' '}
          {formatCount(stats.executions)}: ended ones are deleted by age.
        </p>
      )}
      <PersonSearch workflow={workflow} onFound={show} />
      <PhoneSteps workflow={workflow} graph={graph} stats={stats} />
      <section aria-labelledby="recent" className="space-y-2">
        <h2 id="recent" className="font-semibold text-sm">
          Entered last
        </h2>
        {recent.length === 0 && <p className="text-muted text-ui">No one has entered yet.</p>}
        <ul className="divide-y divide-line">
          {recent.map(({ id, contact, status, startedAt }) => (
            <li key={id} className="flex items-center gap-2 py-1 text-ui">
              <button type="button" className="link min-w-0 flex-1 truncate text-left" onClick={() => show(id)}>
                {contact?.email ?? 'Deleted contact'}
              </button>
              <Status kind="execution" status={status} />
              <span className="text-muted text-xs">
                <Time value={startedAt} />
              </span>
            </li>
          ))}
        </ul>
      </section>
    </>
  )
}

/** Finds the last execution of a contact. */
function PersonSearch({ workflow, onFound }: { workflow: Workflow; onFound: (execution: string) => void }) {
  const project = useProject()
  const navigate = useNavigate()
  const { person } = useSearch({ from: ROUTE })
  const found = useQuery({ ...recentExecutionsQuery(project.id, workflow.id, person), enabled: person !== undefined }).data
  return (
    <div className="space-y-1">
      <PersonPicker
        person={person}
        onPerson={(id) => navigate({ to: '.', search: { ...(id && { person: id }) } as never, replace: true, resetScroll: false })}
        placeholder="Choose a person"
        canClear
      />
      {person && found?.length === 0 && <p className="text-muted text-ui">Has not entered this workflow.</p>}
      {person &&
        found?.map(({ id, status, startedAt }) => (
          <p key={id} className="text-ui">
            <button type="button" className="link" onClick={() => onFound(id)}>
              Show the path
            </button>{' '}
            <Status kind="execution" status={status} />{' '}
            <span className="text-muted">
              <Time value={startedAt} />
            </span>
          </p>
        ))}
    </div>
  )
}

/** The numbers without the drawing. */
function PhoneSteps({ workflow, graph, stats }: { workflow: Workflow; graph: Graph; stats: WorkflowFigures | undefined }) {
  const texts = useTextsOf(workflow)
  return (
    <ol aria-label="Steps" className="divide-y divide-line md:hidden">
      {stepsInOrder(graph).map((step) => (
        <li key={step.id} className="flex items-center gap-2 py-2 text-ui">
          <span className="min-w-0 flex-1 truncate">{texts(step).title}</span>
          <StepCounts step={step} workflowId={workflow.id} stats={stats} />
        </li>
      ))}
    </ol>
  )
}

/** From top to bottom, as they are drawn. */
const stepsInOrder = (graph: Graph) => layoutFlow(flowOf(graph)).steps.flatMap(({ id }) => stepById(graph, id) ?? [])

function OnePerson({ workflow, id }: { workflow: Workflow; id: string }) {
  const navigate = useNavigate()
  return (
    <>
      <h2 className="font-semibold text-sm">The path of one contact</h2>
      <Button size="sm" onClick={() => navigate({ to: '.', search: {} as never, resetScroll: false })}>
        Show everyone
      </Button>
      <ExecutionPeek workflow={workflow} id={id} />
    </>
  )
}

/** Drawn on the steps that the execution started with: they may have changed since. */
function PersonPath({ workflow, id }: { workflow: Workflow; id: string }) {
  const project = useProject()
  const execution = useQuery(executionQuery(project.id, workflow.id, id)).data
  const isOld = execution !== undefined && execution.version !== workflow.version
  const old = useQuery({ ...workflowVersionQuery(project.id, workflow.id, execution?.version ?? 0), enabled: isOld }).data
  const source = isOld ? old : workflow
  const graph = useMemo(() => source && graphOf(source), [source])
  const shown = useMemo(() => {
    if (!execution || !graph) return undefined
    const path = execution.stepExecutions.map(({ stepId }) => ({ stepId }))
    const trigger = graph.steps.find(({ type }) => type === 'TRIGGER')
    const whole = trigger && path[0]?.stepId !== trigger.id ? [{ stepId: trigger.id }, ...path] : path
    return pathMarks(graph, whole, execution.currentStepId ?? undefined)
  }, [execution, graph])
  if (!graph || !shown) return null
  return <ShownSteps label={`Path of ${execution?.contact?.email ?? 'a deleted contact'}`} workflow={workflow} graph={graph} {...shown} />
}
