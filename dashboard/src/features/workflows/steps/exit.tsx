import { LogOut } from 'lucide-react'
import { Field } from '../../../ui/form/field.tsx'
import { Input } from '../../../ui/form/input.tsx'
import { type StepFormProps, type StepView, setterOf, textOf } from './step-view.ts'

export const exitView: StepView = {
  word: 'Leave the workflow',
  Icon: LogOut,
  newConfig: { reason: null },
  describe: ({ reason }) => textOf(reason),
  Form: ExitForm,
}

function ExitForm(props: StepFormProps) {
  const set = setterOf(props)
  return (
    <Field name="reason" label="Reason" hint="Shown with every execution that leaves here.">
      <Input
        value={textOf(props.step.config.reason)}
        maxLength={255}
        autoComplete="off"
        onChange={(event) => set({ reason: event.target.value || null }, 'reason')}
      />
    </Field>
  )
}
