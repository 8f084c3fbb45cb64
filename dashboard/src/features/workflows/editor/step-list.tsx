import { ChevronDown, Plus, TriangleAlert } from 'lucide-react'
import { Menu } from '../../../ui/dialog/menu.tsx'
import { Button, IconButton } from '../../../ui/form/button.tsx'
import { asidesOf, type Place, type Step, stepById } from '../graph/graph.ts'
import { type Arm, type Line, outlineOf, strayLines } from '../graph/outline.ts'
import { StepCounts, type WorkflowFigures } from '../steps/step-counts.tsx'
import { STEP_VIEWS } from '../steps/views.ts'
import { AddMenuItems } from './add-menu.tsx'
import { ProblemList } from './problem-list.tsx'
import { StepForm } from './step-form.tsx'
import { useEditor, useStepTexts } from './use-editing.ts'

/** The workflow as a nested list: every branch below its question, with a place to add a step wherever one can be. For phones and screen readers. */
export function StepList({ stats }: { stats: WorkflowFigures | undefined }) {
  const { graph } = useEditor()
  const stray = strayLines(graph)
  return (
    <div className="max-w-4xl px-4 py-6 sm:px-6 lg:px-8">
      <ProblemList />
      <StepLine line={outlineOf(graph)} stats={stats} label="Steps" />
      {stray.length > 0 && (
        <section className="mt-8 space-y-3" aria-labelledby="stray">
          <h2 id="stray" className="font-semibold text-base">
            Unreachable steps
          </h2>
          <p className="text-muted text-ui">Connect one of them to the end of a branch above, or remove them.</p>
          {stray.map((line) => (
            <StepLine key={line.items[0]!.step.id} line={line} stats={stats} label={`From ${line.items[0]!.step.name}`} />
          ))}
        </section>
      )}
    </div>
  )
}

type Stats = { stats: WorkflowFigures | undefined }

function StepLine({ line, stats, label }: Stats & { line: Line; label: string }) {
  const { graph } = useEditor()
  const asides = asidesOf(graph)
  return (
    <ol aria-label={label} className="min-w-0">
      {line.items.map(({ step, place, arms }) => (
        <li key={step.id}>
          {place && <AddStep place={place} />}
          <StepCard step={step} stats={stats} />
          {asides
            .filter(({ fromStepId }) => fromStepId === step.id)
            .map((aside) => (
              <AddStep key={aside.branch} place={aside} note="When the time is over: goes on the same way." />
            ))}
          {arms.length > 0 && <Arms arms={arms} stats={stats} />}
        </li>
      ))}
      <LineEnd end={line.end} />
    </ol>
  )
}

function Arms({ arms, stats }: Stats & { arms: Arm[] }) {
  return (
    <ul className="mt-2 space-y-3 border-line border-l-2 pl-3 sm:ml-4 sm:pl-5">
      {arms.map(({ branch, label, line }) => (
        <li key={branch ?? ''}>
          <p className="mb-1 font-medium text-ui">{label}</p>
          <StepLine line={line} stats={stats} label={label} />
        </li>
      ))}
    </ul>
  )
}

/** The end of a line: add a step there, or go on at another one. */
function LineEnd({ end }: { end: Line['end'] }) {
  const { run, choose } = useEditor()
  if (end.is === 'exit') return null
  if (end.is === 'open')
    return (
      <li>
        <AddStep place={end.place} />
      </li>
    )
  const stop = (
    <Button size="sm" variant="quiet" onClick={() => run({ do: 'connect', place: end.place, to: undefined })}>
      End here instead
    </Button>
  )
  return (
    <li className="text-muted text-ui">
      <AddStep place={end.place} />
      <span className="inline-flex flex-wrap items-center gap-x-2">
        {end.is === 'joins' ? (
          'Continues after the branches.'
        ) : (
          <>
            Goes on at
            <button type="button" className="link" onClick={() => choose(end.step.id)}>
              {end.step.name}
            </button>
          </>
        )}
        {stop}
      </span>
    </li>
  )
}

/** A `+` at a place of the graph. While a step is moved, the place where it goes. */
function AddStep({ place, note }: { place: Place; note?: string }) {
  const { graph, pending, run } = useEditor()
  const isOpenEnd = !graph.transitions.some(({ fromStepId, branch }) => fromStepId === place.fromStepId && branch === place.branch)
  const where = `${stepById(graph, place.fromStepId)?.name ?? ''}${place.branch ? `, ${place.branch}` : ''}`
  const words = note ?? (isOpenEnd ? 'Ends here.' : '')
  return (
    <div className="relative flex min-h-8 items-center gap-2 pl-3 before:absolute before:inset-y-0 before:left-6.5 before:w-px before:bg-line sm:pl-3">
      {pending?.do === 'move' ? (
        <Button
          size="sm"
          className="relative my-1"
          aria-label={`Move here, after ${where}`}
          onClick={() => run({ ...pending, do: 'move', place })}
        >
          Move here
        </Button>
      ) : (
        <Menu
          trigger={
            isOpenEnd && !note ? (
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
          <AddMenuItems place={place} />
        </Menu>
      )}
      {words && <span className="text-muted text-xs">{words}</span>}
    </div>
  )
}

function StepCard({ step, stats }: Stats & { step: Step }) {
  const { workflow, problems, warnings, refused, chosen, choose } = useEditor()
  const { title, text } = useStepTexts()(step)
  const { Icon } = STEP_VIEWS[step.type]
  const isOpen = step.id === chosen?.id
  const problem = refused.get(step.id) ?? problems.get(step.id) ?? warnings.get(step.id)
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
          onClick={() => choose(isOpen ? undefined : step.id)}
          className="min-w-0 flex-1 rounded-sm text-left after:absolute after:inset-0"
        >
          <span className="block truncate font-medium text-ui">{title}</span>
          <span className="block truncate text-muted text-xs">{text}</span>
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
          <StepForm step={step} />
        </div>
      )}
    </div>
  )
}
