import { useQuery } from '@tanstack/react-query'
import { Clock } from 'lucide-react'
import { useId } from 'react'
import { fieldsQuery } from '../../../data/contacts.ts'
import { useProject } from '../../../projects/current.ts'
import { Field } from '../../../ui/form/field.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'
import { Suggestions } from '../../../ui/form/suggestions.tsx'
import { describePeriod, PeriodFields } from './fields/period.tsx'
import { type StepFormProps, type StepView, textOf } from './step-view.ts'

const PERIOD = { amount: 1, unit: 'days' }
const DATE_FIELD = 'data.'
const nameOfField = (until: unknown) => textOf(until).slice(DATE_FIELD.length)

export const delayView: StepView = {
  word: 'Wait some time',
  Icon: Clock,
  newConfig: PERIOD,
  describe({ amount, unit, until, repeats, hour }) {
    if (until === undefined) return describePeriod({ amount: Number(amount), unit: textOf(unit) })
    const field = nameOfField(until) || 'no date yet'
    return `until ${Number(hour ?? 9)}:00 on ${repeats === 'yearly' ? `the next ${field}` : field}`
  },
  problem({ amount, until }) {
    if (until !== undefined) return nameOfField(until).trim() ? undefined : 'Name the field with the date.'
    return Number(amount) > 0 ? undefined : 'The delay must be longer than zero.'
  },
  pauses: true,
  Form: DelayForm,
}

const KINDS = { period: 'For some time', date: 'Until a date of the contact' }

function DelayForm(props: StepFormProps) {
  const { step, onStep } = props
  const { config } = step
  const kind = config.until === undefined ? 'period' : 'date'
  const set = (next: Record<string, unknown>, what = '') => onStep({ ...step, config: next }, what && `${step.id} ${what}`)
  return (
    <>
      <Field name="kind" label="How long">
        <Select
          options={KINDS}
          value={kind}
          onChange={(event) =>
            set(event.target.value === 'date' ? { until: DATE_FIELD, repeats: 'never', hour: 9, timezone: ownZone() } : PERIOD)
          }
        />
      </Field>
      {kind === 'period' ? (
        <PeriodFields
          label="Wait"
          amount={Number(config.amount)}
          unit={textOf(config.unit) || 'days'}
          onChange={(next) => set(next, 'amount')}
          hint="At most 365 days."
        />
      ) : (
        <DateFields config={config} onChange={(patch, what) => set({ ...config, ...patch }, what)} />
      )}
    </>
  )
}

const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
const HOURS = Object.fromEntries(Array.from({ length: 24 }, (_, hour) => [String(hour), `${hour}:00`]))
const REPEATS = { never: 'On that date', yearly: 'Every year on that day, such as a birthday' }

type DateFieldsProps = { config: StepFormProps['step']['config']; onChange: (patch: Record<string, unknown>, what?: string) => void }

function DateFields({ config, onChange }: DateFieldsProps) {
  const project = useProject()
  const id = useId()
  const fields = useQuery(fieldsQuery(project.id)).data ?? []
  const dates = fields.filter(({ type }) => type === 'date').map(({ field }) => field)
  return (
    <>
      <Field name="until" label="Field with the date" hint="Dates such as 1990-05-17. A contact without one leaves the workflow here.">
        <Input
          value={nameOfField(config.until)}
          maxLength={255}
          autoComplete="off"
          list={id}
          onChange={(event) => onChange({ until: `${DATE_FIELD}${event.target.value}` }, 'until')}
        />
      </Field>
      <Suggestions id={id} values={dates} />
      <Field name="repeats" label="When">
        <Select
          options={REPEATS}
          value={textOf(config.repeats) || 'never'}
          onChange={(event) => onChange({ repeats: event.target.value })}
        />
      </Field>
      <div className="grid grid-cols-2 gap-4">
        <Field name="hour" label="At">
          <Select options={HOURS} value={String(config.hour ?? 9)} onChange={(event) => onChange({ hour: Number(event.target.value) })} />
        </Field>
        <Field name="timezone" label="Time zone">
          <Input
            value={textOf(config.timezone) || 'UTC'}
            maxLength={100}
            autoComplete="off"
            onChange={(event) => onChange({ timezone: event.target.value }, 'timezone')}
          />
        </Field>
      </div>
    </>
  )
}
