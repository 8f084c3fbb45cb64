import type { Result, Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ChevronDown, Plus, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { segmentNamesQuery } from '../../../data/segments.ts'
import { templateNamesQuery } from '../../../data/templates.ts'
import { useProject } from '../../../projects/current.ts'
import { Menu, MenuItem } from '../../../ui/dialog/menu.tsx'
import { Button, IconButton } from '../../../ui/form/button.tsx'
import { formatCount } from '../../../ui/text/count.tsx'
import { changeStep, insertStep, removeStep } from '../commands/edit.ts'
import { addableSteps, STEP_VIEWS } from '../steps/views.ts'
import { describeTrigger } from './describe.ts'
import { connect, type Graph, newId, type Place, type Step, targetsOf } from './graph.ts'
import { type Arm, type Line, outlineOf, strayLines } from './outline.ts'
import { StepForm } from './step-form.tsx'

type Stats = Result<'GET /workflows/{id}/stats'>

type StepListProps = {
  workflow: Workflow
  graph: Graph
  /** `what` names the field that is typed into. */
  onChange: (graph: Graph, what?: string) => void
  stats: Stats | undefined
  /** By step: what is missing, and what the server refused. */
  problems: Map<string, string>
  refused: Map<string, string>
  chosen: string | undefined
  onChoose: (stepId: string | undefined) => void
  /** What saving does. */
  note: string | undefined
}

/** The workflow as a nested list: every branch below its question, with a place to add a step wherever one can be. */
export function StepList(props: StepListProps) {
  const { graph, problems, note } = props
  const stray = strayLines(graph)
  return (
    <div className="max-w-4xl px-4 py-6 sm:px-6 lg:px-8">
      {note && <p className="mb-4 text-muted text-ui">{note}</p>}
      {problems.size > 0 && <ProblemList {...props} />}
      <StepLine line={outlineOf(graph)} props={props} label="Steps" />
      {stray.length > 0 && (
        <section className="mt-8 space-y-3" aria-labelledby="stray">
          <h2 id="stray" className="font-semibold text-base">
            Unreachable steps
          </h2>
          <p className="text-muted text-ui">Connect one of them to the end of a branch above, or remove them.</p>
          {stray.map((line) => (
            <StepLine key={line.items[0]!.step.id} line={line} props={props} label={`From ${line.items[0]!.step.name}`} />
          ))}
        </section>
      )}
    </div>
  )
}

function ProblemList({ problems, graph, onChoose }: StepListProps) {
  return (
    <ul className="mb-4 space-y-1 rounded-lg bg-warning-soft px-3 py-2 text-ui text-warning">
      {[...problems].map(([stepId, message]) => (
        <li key={stepId} className="flex gap-2">
          <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
          <button type="button" className="rounded-sm text-left hover:underline hover:underline-offset-4" onClick={() => onChoose(stepId)}>
            <span className="font-medium">{graph.steps.find(({ id }) => id === stepId)?.name}:</span> {message}
          </button>
        </li>
      ))}
    </ul>
  )
}

function StepLine({ line, props, label }: { line: Line; props: StepListProps; label: string }) {
  return (
    <ol aria-label={label} className="min-w-0">
      {line.items.map(({ step, place, arms }) => (
        <li key={step.id}>
          {place && <AddStep place={place} props={props} isOpenEnd={false} />}
          <StepCard step={step} props={props} />
          {arms.length > 0 && <Arms arms={arms} props={props} />}
        </li>
      ))}
      <LineEnd end={line.end} props={props} />
    </ol>
  )
}

function Arms({ arms, props }: { arms: Arm[]; props: StepListProps }) {
  return (
    <ul className="mt-2 space-y-3 border-line border-l-2 pl-3 sm:ml-4 sm:pl-5">
      {arms.map(({ branch, label, line }) => (
        <li key={branch ?? ''}>
          <p className="mb-1 font-medium text-ui">{label}</p>
          <StepLine line={line} props={props} label={label} />
        </li>
      ))}
    </ul>
  )
}

/** The end of a line: add a step there, or go on at another one. */
function LineEnd({ end, props }: { end: Line['end']; props: StepListProps }) {
  const { graph, onChange, onChoose } = props
  if (end.is === 'exit') return null
  const stop = (
    <Button size="sm" variant="quiet" onClick={() => onChange(connect(graph, end.place, undefined))}>
      End here instead
    </Button>
  )
  if (end.is === 'joins') {
    return (
      <li className="text-muted text-ui">
        <AddStep place={end.place} props={props} isOpenEnd={false} />
        <span className="inline-flex flex-wrap items-center gap-x-2">Continues after the branches. {stop}</span>
      </li>
    )
  }
  if (end.is === 'goesTo') {
    return (
      <li className="text-ui">
        <AddStep place={end.place} props={props} isOpenEnd={false} />
        <span className="inline-flex flex-wrap items-center gap-x-2 text-muted">
          Goes on at
          <button type="button" className="link" onClick={() => onChoose(end.step.id)}>
            {end.step.name}
          </button>
          {stop}
        </span>
      </li>
    )
  }
  return (
    <li>
      <AddStep place={end.place} props={props} isOpenEnd />
    </li>
  )
}

/** A `+` at a place of the graph. */
function AddStep({ place, props, isOpenEnd }: { place: Place; props: StepListProps; isOpenEnd: boolean }) {
  const { graph, onChange, onChoose } = props
  const before = graph.steps.find(({ id }) => id === place.fromStepId)?.name ?? ''
  function add({ type, config }: Pick<Step, 'type' | 'config'>) {
    const step = { id: newId(), type, name: STEP_VIEWS[type].word, position: { x: 0, y: 0 }, config }
    onChange(insertStep(graph, place, step))
    onChoose(step.id)
  }
  const targets = isOpenEnd ? targetsOf(graph, place) : []
  const where = `${before}${place.branch ? `, ${place.branch}` : ''}`
  return (
    <div className="relative flex min-h-8 items-center gap-2 pl-3 before:absolute before:inset-y-0 before:left-6.5 before:w-px before:bg-line sm:pl-3">
      <Menu
        trigger={
          isOpenEnd ? (
            <Button size="sm" className="relative my-2" aria-label={`Add a step after ${where}`}>
              <Plus aria-hidden="true" />
              Add a step
            </Button>
          ) : (
            <IconButton label={`Add a step after ${where}`} className="relative size-7 border border-line bg-surface">
              <Plus />
            </IconButton>
          )
        }
      >
        {addableSteps({ isOpenEnd }).map((addable) => {
          const { Icon, word } = STEP_VIEWS[addable.type]
          return (
            <MenuItem key={addable.type} onSelect={() => add(addable)}>
              <Icon aria-hidden="true" />
              {word}
            </MenuItem>
          )
        })}
        {targets.length > 0 && <p className="border-line border-t px-2 pt-2 pb-1 text-muted text-xs">Continue at</p>}
        {targets.map((step) => (
          <MenuItem key={step.id} onSelect={() => onChange(connect(graph, place, step.id))}>
            {step.name}
          </MenuItem>
        ))}
      </Menu>
      {isOpenEnd && <span className="text-muted text-xs">Ends here.</span>}
    </div>
  )
}

function StepCard({ step, props }: { step: Step; props: StepListProps }) {
  const { workflow, graph, onChange, stats, problems, refused, chosen, onChoose } = props
  const { Icon } = STEP_VIEWS[step.type]
  const isOpen = step.id === chosen
  const problem = refused.get(step.id) ?? problems.get(step.id)
  const panelId = `step-${step.id}`
  return (
    <div className={`rounded-lg border bg-surface ${isOpen ? 'border-accent' : problem ? 'border-warning/60' : 'border-line'}`}>
      <div className="relative flex min-h-12 items-center gap-3 px-3 py-2">
        <span className="flex size-7 shrink-0 items-center justify-center rounded-md bg-accent-soft text-accent">
          <Icon className="size-4" aria-hidden="true" />
        </span>
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={panelId}
          onClick={() => onChoose(isOpen ? undefined : step.id)}
          className="min-w-0 flex-1 rounded-sm text-left after:absolute after:inset-0"
        >
          <span className="block truncate font-medium text-ui">
            {step.type === 'TRIGGER' ? <TriggerName workflow={workflow} /> : step.name}
          </span>
          <span className="block truncate text-muted text-xs">
            {step.type === 'TRIGGER' ? 'Contacts enter here' : <Description step={step} />}
          </span>
        </button>
        <StepCounts step={step} workflowId={workflow.id} stats={stats} />
        <ChevronDown className={`size-4 shrink-0 text-muted ${isOpen ? 'rotate-180' : ''}`} aria-hidden="true" />
      </div>
      {problem && (
        <p className="flex gap-2 px-3 pb-2 text-ui text-warning">
          <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
          {problem}
        </p>
      )}
      {isOpen && (
        <div id={panelId} className="border-line border-t p-4">
          <StepForm
            step={step}
            workflow={workflow}
            graph={graph}
            onStep={(changed, what) => onChange(changeStep(graph, changed), what)}
            onGraph={onChange}
            onRemove={() => {
              onChoose(undefined)
              onChange(removeStep(graph, step.id))
            }}
            lost={graph.steps.length - 1 - removeStep(graph, step.id).steps.length}
          />
        </div>
      )}
    </div>
  )
}

function TriggerName({ workflow }: { workflow: Workflow }) {
  const project = useProject()
  return describeTrigger(workflow, useQuery(segmentNamesQuery(project.id)).data ?? {})
}

function Description({ step }: { step: Step }) {
  const project = useProject()
  const templates = useQuery(templateNamesQuery(project.id)).data
  const segments = useQuery(segmentNamesQuery(project.id)).data
  if (!templates || !segments) return null
  const { word, describe } = STEP_VIEWS[step.type]
  const words = describe(step.config, { templates, segments })
  return <>{step.name === word ? words : [word, words].filter(Boolean).join(' · ')}</>
}

/** Counts of the saved graph. Each opens the list that adds up to it. */
function StepCounts({ step, workflowId, stats }: { step: Step; workflowId: string; stats: Stats | undefined }) {
  const counts = stats?.steps.find(({ stepId }) => stepId === step.id)
  if (!counts || counts.entered === 0) return null
  const visits = { workflowId, stepId: step.id }
  return (
    <span className="relative z-10 flex shrink-0 flex-wrap justify-end gap-x-3 text-xs max-sm:max-w-32">
      {step.type === 'TRIGGER' ? (
        <ExecutionCount workflowId={workflowId} search={{}} value={stats!.executions} word="entered" />
      ) : (
        <VisitCount {...visits} value={counts.entered} />
      )}
      {counts.waiting > 0 && (
        <ExecutionCount workflowId={workflowId} search={{ step: step.id, status: 'WAITING' }} value={counts.waiting} word="here now" />
      )}
      {counts.skipped > 0 && <VisitCount {...visits} outcome="skipped" value={counts.skipped} />}
      {counts.cancelled > 0 && <VisitCount {...visits} outcome="cancelled" value={counts.cancelled} />}
      {counts.failed > 0 && <VisitCount {...visits} outcome="failed" value={counts.failed} />}
    </span>
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
