import { Field } from '../../../ui/form/field.tsx'
import { Input } from '../../../ui/form/input.tsx'
import type { Step } from '../graph/graph.ts'
import { STEP_VIEWS } from '../steps/views.ts'
import { StepActions } from './step-actions.tsx'
import { useEditor } from './use-editing.ts'

/** Name and settings of a step, in the inspector and in the list. */
export function StepForm({ step }: { step: Step }) {
  const { workflow, graph, run } = useEditor()
  const { Form } = STEP_VIEWS[step.type]
  const props = {
    step,
    workflow,
    graph,
    onStep: (changed: Step, what?: string) => void run({ do: 'change', step: changed }, what),
    onCommand: run,
  }
  if (step.type === 'TRIGGER') return <Form {...props} />
  return (
    <div className="@container space-y-4">
      <Field name="name" label="Name of the step">
        <Input
          value={step.name}
          maxLength={255}
          autoComplete="off"
          onChange={(event) => props.onStep({ ...step, name: event.target.value }, `${step.id} name`)}
        />
      </Field>
      <Form {...props} />
      <div className="border-line border-t pt-3">
        <StepActions step={step} />
      </div>
    </div>
  )
}
