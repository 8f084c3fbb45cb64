import { Field } from '../../../ui/form/field.tsx'
import { Select } from '../../../ui/form/input.tsx'
import { MessageFrame } from '../../../ui/message/message-frame.tsx'
import { exactTime } from '../../../ui/text/time.tsx'
import { Json } from '../executions/execution-peek.tsx'
import { describeDuration } from '../executions/took.ts'
import { branchesOf } from '../graph/branches.ts'
import type { Step } from '../graph/graph.ts'
import { STEP_VIEWS } from '../steps/views.ts'
import type { Simulation } from './try.tsx'

type TriedStepProps = {
  item: Simulation['path'][number]
  /** When the path began. */
  begun: string
  step: Step | undefined
  answer: string | undefined
  /** Undefined: as the step would decide. */
  onAnswer: (answer: string | undefined) => void
  /** Undefined: not looked into. */
  inspected: Simulation['inspected'] | undefined
  onInspect: (isOpen: boolean) => void
}

/** A step of a path: its time, its result, a choice of branch, its input and its email. */
export function TriedStep({ item, begun, step, answer, onAnswer, inspected, onInspect }: TriedStepProps) {
  const { Icon } = STEP_VIEWS[item.type]
  const after = Date.parse(item.at) - Date.parse(begun)
  const answers = step ? answersOf(step) : {}
  return (
    <li className="flex gap-3">
      <Icon className="mt-0.5 size-4 shrink-0 text-muted" aria-hidden="true" />
      <div className="min-w-0 flex-1 space-y-1">
        <p className="flex flex-wrap items-baseline gap-x-2 text-ui">
          <span className="font-medium">{item.name}</span>
          <time className="text-muted text-xs" dateTime={item.at} title={exactTime(item.at)}>
            {after < 1_000 ? 'at once' : `after ${describeDuration(after)}`}
          </time>
        </p>
        <StepResult item={item} />
        {Object.keys(answers).length > 0 && (
          <Field name={`answer-${item.stepId}`} label={`Answer of ${item.name}`}>
            <Select
              options={{ '': describeTaken(item, step), ...answers }}
              value={answer ?? ''}
              onChange={(event) => onAnswer(event.target.value || undefined)}
            />
          </Field>
        )}
        <button
          type="button"
          aria-expanded={inspected !== undefined}
          className="link text-xs"
          onClick={() => onInspect(inspected === undefined)}
        >
          {item.type === 'SEND_EMAIL' ? 'Email and input' : 'Input'}
        </button>
        {inspected && <Inspected name={item.name} inspected={inspected} />}
      </div>
    </li>
  )
}

/** The branches that a tried step can take. A wait without a timeout branch continues the same way. */
function answersOf(step: Step): Record<string, string> {
  if (step.type === 'WAIT_FOR_EVENT') return { event: 'It happens at once', timeout: 'It does not happen' }
  const branches = branchesOf(step)
  return branches.length > 1 ? Object.fromEntries(branches.map(({ branch, label }) => [branch ?? '', label])) : {}
}

function describeTaken({ branch, type }: TriedStepProps['item'], step: Step | undefined): string {
  const label = step && branchesOf(step).find((each) => each.branch === branch)?.label
  return type === 'CONDITION' && label ? `As it is: ${label}` : 'As it is'
}

function StepResult({ item: { type, result, branch } }: { item: TriedStepProps['item'] }) {
  const { Result } = STEP_VIEWS[type]
  if (type === 'WAIT_FOR_EVENT' && branch !== 'timeout') return null
  // The server returns an object for every kind, or nothing.
  const shown = result as Record<string, unknown> | null
  return shown && Result ? <Result result={shown} /> : null
}

function Inspected({ name, inspected }: { name: string; inspected: NonNullable<Simulation['inspected']> }) {
  const { email, ...input } = inspected
  return (
    <div className="space-y-2">
      {email?.frameUrl && (
        <div className="h-96">
          <MessageFrame fill title={`Email of ${name}`} url={email.frameUrl} />
        </div>
      )}
      <Json value={input} />
    </div>
  )
}
