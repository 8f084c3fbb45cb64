import { Field } from '../../../../ui/form/field.tsx'
import { Input, Select } from '../../../../ui/form/input.tsx'

const UNITS = [
  ['days', 86_400],
  ['hours', 3_600],
  ['minutes', 60],
] as const

/** Seconds in the largest unit that divides them. */
export function splitSeconds(seconds: number): { amount: number; unit: 'days' | 'hours' | 'minutes' } {
  const [unit, size] = UNITS.find(([, each]) => seconds >= each && seconds % each === 0) ?? (['minutes', 60] as const)
  return { amount: seconds / size, unit }
}

export const secondsOf = (amount: number, unit: string): number => Math.round(amount * (UNITS.find(([name]) => name === unit)?.[1] ?? 60))

export const describePeriod = ({ amount, unit }: { amount: number; unit: string }) =>
  `${amount} ${amount === 1 ? unit.replace(/s$/, '') : unit}`

type PeriodFieldsProps = {
  label: string
  amount: number
  unit: string
  hint?: string
  onChange: (period: { amount: number; unit: string }) => void
}

export function PeriodFields({ label, amount, unit, hint, onChange }: PeriodFieldsProps) {
  return (
    <div className="grid max-w-sm grid-cols-2 gap-4">
      <Field name="amount" label={label} hint={hint}>
        <Input
          type="number"
          min={0}
          step="any"
          value={Number.isNaN(amount) ? '' : amount}
          onChange={(event) => onChange({ amount: event.target.valueAsNumber, unit })}
        />
      </Field>
      <Field name="unit" label="Unit">
        <Select
          options={{ minutes: 'Minutes', hours: 'Hours', days: 'Days' }}
          value={unit}
          onChange={(event) => onChange({ amount, unit: event.target.value })}
        />
      </Field>
    </div>
  )
}
