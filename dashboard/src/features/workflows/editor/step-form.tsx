import { Trash2 } from 'lucide-react'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Input } from '../../../ui/form/input.tsx'
import { countOf } from '../../../ui/text/count.tsx'
import type { StepFormProps } from '../steps/step-view.ts'
import { STEP_VIEWS } from '../steps/views.ts'

type EditedStepProps = StepFormProps & {
  onRemove: () => void
  /** Steps of its branches that go with it. */
  lost: number
}

const STEPS = { one: 'step of its branches goes', many: 'steps of its branches go' }

/** Name and settings of a step. */
export function StepForm({ onRemove, lost, ...props }: EditedStepProps) {
  const { step, onStep } = props
  const { Form } = STEP_VIEWS[step.type]
  if (step.type === 'TRIGGER') return <Form {...props} />
  return (
    <div className="space-y-4">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <Field name="name" label="Name of the step">
          <Input
            value={step.name}
            maxLength={255}
            autoComplete="off"
            onChange={(event) => onStep({ ...step, name: event.target.value }, `${step.id} name`)}
          />
        </Field>
      </div>
      <Form {...props} />
      <div className="flex flex-wrap items-center gap-3 border-line border-t pt-3">
        <Button size="sm" onClick={onRemove}>
          <Trash2 aria-hidden="true" />
          Remove the step
        </Button>
        {lost > 0 && <span className="text-muted text-ui">{countOf(lost, STEPS)} with it.</span>}
      </div>
    </div>
  )
}
