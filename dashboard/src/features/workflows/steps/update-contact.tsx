import { UserPen } from 'lucide-react'
import { Field } from '../../../ui/form/field.tsx'
import { Select } from '../../../ui/form/input.tsx'
import type { Step } from '../graph/graph.ts'
import { TypedValues } from './fields/typed-values.tsx'
import { type StepFormProps, type StepView, setterOf, textOf } from './step-view.ts'

const updatesOf = ({ updates }: Step['config']) => Object.entries((updates ?? {}) as Record<string, unknown>)
const changesSubscription = ({ subscriptionAction }: Step['config']) => /^(un)?subscribe$/.test(textOf(subscriptionAction))
const showValue = (value: unknown) => (typeof value === 'string' ? `“${value}”` : (JSON.stringify(value) ?? '…'))

export const updateContactView: StepView = {
  word: 'Update the contact',
  Icon: UserPen,
  newConfig: { updates: {}, subscriptionAction: 'none' },
  describe(config) {
    const parts = [
      ...updatesOf(config).map(([key, value]) => (value === null ? `delete ${key}` : `${key} = ${showValue(value)}`)),
      ...(changesSubscription(config) ? [textOf(config.subscriptionAction)] : []),
    ]
    return parts.join(', ') || 'nothing yet'
  },
  problem: (config) => (updatesOf(config).length || changesSubscription(config) ? undefined : 'Name a field, or change the subscription.'),
  Form: UpdateForm,
}

function UpdateForm(props: StepFormProps) {
  const set = setterOf(props)
  return (
    <>
      <TypedValues values={Object.fromEntries(updatesOf(props.step.config))} onChange={(updates) => set({ updates }, 'updates')} />
      <Field name="subscriptionAction" label="Subscription">
        <Select
          options={{ none: 'Leave it as it is', subscribe: 'Subscribe the contact', unsubscribe: 'Unsubscribe the contact' }}
          value={textOf(props.step.config.subscriptionAction) || 'none'}
          onChange={(event) => set({ subscriptionAction: event.target.value })}
        />
      </Field>
    </>
  )
}
