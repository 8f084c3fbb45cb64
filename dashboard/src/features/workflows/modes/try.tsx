import type { Result, Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { simulationQuery } from '../../../data/workflows.ts'
import { PersonPicker } from '../../../people/person-picker.tsx'
import { useProject } from '../../../projects/current.ts'
import { ErrorState } from '../../../ui/page/error-state.tsx'
import { Status } from '../../../ui/text/status.tsx'
import { ShownSteps } from '../canvas/shown-steps.tsx'
import { describeDuration } from '../executions/took.ts'
import { graphOf } from '../graph/graph.ts'
import { describeReason } from '../steps/describe.ts'
import { InvalidInputs } from '../steps/fields/invalid-inputs.ts'
import { JsonField } from '../steps/fields/json-field.tsx'
import { ModeFrame } from './mode-frame.tsx'
import { pathMarks } from './path-marks.ts'
import { TriedStep } from './tried-step.tsx'
import { WhyInHere } from './why.tsx'

export type Simulation = Result<'POST /workflows/{id}/simulate'>

const ENDS: Record<Simulation['end'], string> = {
  COMPLETED: 'Finished, as there are no more steps',
  EXITED: 'Leaves the workflow',
  FAILED: 'Fails here',
  WAITING: 'Waits here',
}
const ROUTE = '/app/p/$projectId/workflows/$workflowId/try'

/** The path of one person through the saved steps, with the branches that the user chooses. Nothing is sent. */
export function TryWorkflow({ workflow }: { workflow: Workflow }) {
  const project = useProject()
  const { person } = useSearch({ from: ROUTE })
  const [answers, setAnswers] = useState<Record<string, string>>({})
  const [eventData, setEventData] = useState<unknown>()
  const [inspect, setInspect] = useState<number>()
  const eventName = workflow.triggerType === 'EVENT' ? String(workflow.triggerConfig.eventName) : ''
  const tried = { person, eventName, eventData, answers, inspect }
  const query = useQuery(simulationQuery(project.id, workflow, tried))
  const simulation = query.data
  const graph = useMemo(() => graphOf(workflow), [workflow])
  const shown = useMemo(() => simulation && pathMarks(graph, timesOf(simulation), hereOf(simulation)), [graph, simulation])
  const choose = (stepId: string | undefined) => {
    const at = simulation?.path.findIndex((item) => item.stepId === stepId) ?? -1
    setInspect(at < 0 ? undefined : at)
  }
  return (
    <ModeFrame
      workflow={workflow}
      label="Path"
      panel={
        <>
          <Person person={person} />
          <InvalidInputs value={() => {}}>
            {eventName && (
              <JsonField
                id="try-event"
                label={`Data of ${eventName}`}
                hint="A JSON object, as your code would send it."
                rows={3}
                value={eventData}
                onChange={setEventData}
              />
            )}
          </InvalidInputs>
          {query.isLoadingError && <ErrorState title="Could not try it" error={query.error} retry={query.refetch} />}
          {simulation && (
            <ol className="space-y-3" aria-label="Path" aria-busy={query.isFetching}>
              {simulation.path.map((item, index) => (
                <TriedStep
                  // A loop comes to a step more than once.
                  // biome-ignore lint/suspicious/noArrayIndexKey: the path is a sequence
                  key={index}
                  item={item}
                  begun={simulation.path[0]!.at}
                  step={graph.steps.find(({ id }) => id === item.stepId)}
                  answer={answers[item.stepId]}
                  onAnswer={(answer) => setAnswers(withAnswer(answers, item.stepId, answer))}
                  inspected={index === inspect ? simulation.inspected : undefined}
                  onInspect={(isOpen) => setInspect(isOpen ? index : undefined)}
                />
              ))}
              <li className="text-ui">
                <Status kind="execution" status={simulation.end}>
                  {[ENDS[simulation.end], simulation.reason && describeReason(simulation.reason)].filter(Boolean).join(': ')}
                </Status>
              </li>
            </ol>
          )}
          {person && <WhyInHere workflow={workflow} person={person} />}
        </>
      }
    >
      {shown && (
        <ShownSteps
          label="Path through the workflow"
          workflow={workflow}
          graph={graph}
          {...shown}
          chosen={inspect === undefined ? undefined : simulation?.path[inspect]?.stepId}
          onChoose={choose}
        />
      )}
    </ModeFrame>
  )
}

function withAnswer(answers: Record<string, string>, stepId: string, answer: string | undefined): Record<string, string> {
  const { [stepId]: _, ...others } = answers
  return answer === undefined ? others : { ...others, [stepId]: answer }
}

/** When the path comes to each step; a loop comes again later. */
const timesOf = ({ path }: Simulation) =>
  path.map(({ stepId, at, branch }) => {
    const after = Date.parse(at) - Date.parse(path[0]!.at)
    return { stepId, branch, words: after < 1_000 ? 'at once' : `after ${describeDuration(after)}` }
  })

const hereOf = ({ path, end }: Simulation) => (end === 'WAITING' || end === 'FAILED' ? path.at(-1)?.stepId : undefined)

function Person({ person }: { person: string | undefined }) {
  const navigate = useNavigate()
  return (
    <div className="space-y-1">
      <p className="text-muted text-ui">Nothing is sent or stored. The saved steps are tried, starting now.</p>
      <div className="flex flex-wrap items-center gap-2">
        <span className="text-ui">Try it as</span>
        <PersonPicker
          person={person}
          onPerson={(id) => navigate({ to: '.', search: (id ? { person: id } : {}) as never, replace: true, resetScroll: false })}
          placeholder="a subscribed sample person"
          canClear
        />
      </div>
    </div>
  )
}
