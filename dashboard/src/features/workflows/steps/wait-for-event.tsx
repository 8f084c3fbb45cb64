import { useQuery } from '@tanstack/react-query'
import { Hourglass } from 'lucide-react'
import { useId, useState } from 'react'
import { eventNamesQuery } from '../../../data/events.ts'
import { useProject } from '../../../projects/current.ts'
import { Field } from '../../../ui/form/field.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'
import { Suggestions } from '../../../ui/form/suggestions.tsx'
import { newId, type Step, stepById, targetsOf, transitionAt } from '../graph/graph.ts'
import { describePeriod, PeriodFields, secondsOf, splitSeconds } from './fields/period.tsx'
import { type StepFormProps, type StepView, setterOf, textOf } from './step-view.ts'

const DEFAULT_SECONDS = 259_200
const NEW_BRANCH = 'new'

export const waitForEventView: StepView = {
  word: 'Wait for an event',
  Icon: Hourglass,
  newConfig: { eventName: '', timeout: DEFAULT_SECONDS },
  describe({ eventName, timeout }) {
    const event = textOf(eventName) || 'no event yet'
    return typeof timeout === 'number' ? `until ${event}, at most ${describePeriod(splitSeconds(timeout))}` : `until ${event}, however long`
  },
  problem({ eventName, timeout }) {
    if (!textOf(eventName).trim()) return 'Name the event.'
    return timeout !== null && !(Number(timeout) >= 1) ? 'The limit must be longer than zero.' : undefined
  },
  pauses: true,
  Form: WaitForm,
  Result: ({ result }) => <p className="text-muted text-ui">{String(result.eventName)} does not happen.</p>,
}

function WaitForm(props: StepFormProps) {
  const project = useProject()
  const id = useId()
  const events = useQuery(eventNamesQuery(project.id)).data ?? []
  const set = setterOf(props)
  const { eventName, timeout } = props.step.config
  const isLimited = timeout !== null && timeout !== undefined
  const [period, setPeriod] = useState(() => splitSeconds(typeof timeout === 'number' ? timeout : DEFAULT_SECONDS))
  return (
    <>
      <div className="grid grid-cols-1 gap-4 @md:grid-cols-2">
        <Field name="eventName" label="Event" hint="Counted from the moment the contact reaches this step.">
          <Input
            value={textOf(eventName)}
            maxLength={255}
            autoComplete="off"
            list={id}
            onChange={(event) => set({ eventName: event.target.value }, 'eventName')}
          />
        </Field>
        <Field name="limit" label="How long">
          <Select
            options={{ limited: 'Give up after…', forever: 'However long it takes' }}
            value={isLimited ? 'limited' : 'forever'}
            onChange={(event) => set({ timeout: event.target.value === 'limited' ? secondsOf(period.amount, period.unit) : null })}
          />
        </Field>
      </div>
      <Suggestions id={id} values={events} />
      {isLimited && (
        <>
          <PeriodFields
            label="Give up after"
            amount={period.amount}
            unit={period.unit}
            onChange={(next) => {
              setPeriod(next as typeof period)
              set({ timeout: secondsOf(next.amount, next.unit) || 0 }, 'timeout')
            }}
          />
          <TimeoutTarget {...props} />
        </>
      )}
    </>
  )
}

/** Where a wait goes on when its time is over. */
function TimeoutTarget({ step, graph, onCommand }: StepFormProps) {
  const place = { fromStepId: step.id, branch: 'timeout' }
  const target = stepById(graph, transitionAt(graph, place)?.toStepId)
  const options = {
    '': 'The same step as when it happens',
    [NEW_BRANCH]: 'A branch of its own',
    ...Object.fromEntries(targetsOf(graph, place).map(({ id, name }) => [id, name])),
  }
  function choose(chosen: string) {
    if (chosen !== NEW_BRANCH) return onCommand({ do: 'connect', place, to: chosen || undefined })
    const exit: Step = { id: newId(), type: 'EXIT', name: 'It did not happen', position: { x: 0, y: 0 }, config: { reason: 'timeout' } }
    return onCommand({ do: 'insert', place, step: exit })
  }
  return (
    <Field name="timeoutTarget" label="When the time is over, continue at">
      <Select options={options} value={target?.id ?? ''} onChange={(event) => choose(event.target.value)} />
    </Field>
  )
}
