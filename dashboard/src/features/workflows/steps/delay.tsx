import { Clock } from 'lucide-react'
import { describePeriod, PeriodFields } from './period.tsx'
import { type StepFormProps, type StepView, setterOf, textOf } from './step-view.ts'

export const delayView: StepView = {
  word: 'Wait some time',
  Icon: Clock,
  newConfig: { amount: 1, unit: 'days' },
  describe: ({ amount, unit }) => describePeriod({ amount: Number(amount), unit: textOf(unit) }),
  problem: ({ amount }) => (Number(amount) > 0 ? undefined : 'The delay must be longer than zero.'),
  pauses: true,
  Form: DelayForm,
}

function DelayForm(props: StepFormProps) {
  const set = setterOf(props)
  const { amount, unit } = props.step.config
  return (
    <PeriodFields
      label="Wait"
      amount={Number(amount)}
      unit={textOf(unit) || 'days'}
      onChange={(next) => set(next, 'amount')}
      hint="At most 365 days."
    />
  )
}
