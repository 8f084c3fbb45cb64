import { Button } from './button.tsx'
import { Field } from './field.tsx'
import { Input, Select } from './input.tsx'
import { momentOf, presetsOf, utcText, type ZonedTime, zones } from './zoned-time.ts'

const ZONES = Object.fromEntries(zones().map((zone) => [zone, zone.replaceAll('_', ' ')]))

/** Why a time cannot be used; undefined if it can. */
export function timeProblem(time: ZonedTime, { now = Date.now(), maxDays }: { now?: number; maxDays?: number } = {}): string | undefined {
  const at = momentOf(time)?.getTime()
  if (at === undefined) return 'choose a date and a time'
  if (at <= now) return 'the time is in the past'
  return maxDays !== undefined && at > now + maxDays * 86_400_000 ? `the time is more than ${maxDays} days ahead` : undefined
}

type ZonedTimeFieldsProps = { time: ZonedTime; onTime: (time: ZonedTime) => void; problem: string | undefined }

/** A time in the future: usual ones, a date and a time, their zone, and what that is in UTC. */
export function ZonedTimeFields({ time, onTime, problem }: ZonedTimeFieldsProps) {
  const at = momentOf(time)
  return (
    <>
      <div className="flex flex-wrap gap-1">
        {presetsOf(time.zone, new Date()).map(({ label, text }) => (
          <Button key={label} size="sm" onClick={() => onTime({ ...time, text })}>
            {label}
          </Button>
        ))}
      </div>
      <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
        <Field name="at" label="Date and time">
          <Input type="datetime-local" value={time.text} onChange={(event) => onTime({ ...time, text: event.target.value })} />
        </Field>
        <Field name="zone" label="Time zone">
          <Select options={ZONES} value={time.zone} onChange={(event) => onTime({ ...time, zone: event.target.value })} />
        </Field>
      </div>
      <p className="text-muted text-ui" role="status">
        {problem ? `Not ready: ${problem}.` : at && `That is ${utcText(at)}.`}
      </p>
    </>
  )
}
