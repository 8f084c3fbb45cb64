import type { Draft } from '../../../editor/use-draft.ts'
import { Button } from '../../../ui/form/button.tsx'
import { Choices } from '../../../ui/form/choices.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'
import { momentOf, presetsOf, utcText, type ZonedTime, zones } from '../schedule-time.ts'
import type { CampaignValues } from './campaign-values.ts'
import { Section } from './section.tsx'

/** When it is sent: now, or at a time. */
export type When = { kind: 'now' | 'later' } & ZonedTime

const KINDS = [
  { value: 'now', label: 'Now', hint: 'In ten seconds; until then you can undo it.' },
  { value: 'later', label: 'At a time', hint: 'It starts automatically. Until then you can change or unschedule it.' },
]
const ZONES = Object.fromEntries(zones().map((zone) => [zone, zone.replaceAll('_', ' ')]))

/** Why the time cannot be used; undefined if it can. */
export function whenProblem(when: When, now = Date.now()): string | undefined {
  if (when.kind === 'now') return undefined
  const at = momentOf(when)
  if (!at) return 'choose a date and a time'
  return at.getTime() <= now ? 'the time is in the past' : undefined
}

type WhenSectionProps = { when: When; onWhen: (when: When) => void; draft: Draft<CampaignValues> }

export function WhenSection({ when, onWhen, draft }: WhenSectionProps) {
  const at = momentOf(when)
  const problem = whenProblem(when)
  return (
    <Section title="When" state={problem ? 'open' : 'done'}>
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
        <div className="space-y-3">
          {/* The values are the kinds. */}
          <Choices
            legend="Send it"
            name="when"
            choices={KINDS}
            chosen={when.kind}
            onChoose={(kind) => onWhen({ ...when, kind: kind as When['kind'] })}
          />
          {when.kind === 'later' && (
            <>
              <div className="flex flex-wrap gap-1">
                {presetsOf(when.zone, new Date()).map(({ label, text }) => (
                  <Button key={label} size="sm" onClick={() => onWhen({ ...when, text })}>
                    {label}
                  </Button>
                ))}
              </div>
              <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
                <Field name="at" label="Date and time">
                  <Input type="datetime-local" value={when.text} onChange={(event) => onWhen({ ...when, text: event.target.value })} />
                </Field>
                <Field name="zone" label="Time zone">
                  <Select options={ZONES} value={when.zone} onChange={(event) => onWhen({ ...when, zone: event.target.value })} />
                </Field>
              </div>
              <p className="text-muted text-ui" role="status">
                {problem ? `Not ready: ${problem}.` : at && `That is ${utcText(at)}.`}
              </p>
            </>
          )}
        </div>
        <Field
          name="ratePerMinute"
          label="Emails per minute, at most"
          hint="Empty: as fast as the installation sends. It can be changed while sending."
        >
          <Input
            inputMode="numeric"
            className="sm:w-40"
            value={draft.values.ratePerMinute}
            onChange={(event) => draft.set({ ratePerMinute: event.target.value })}
            autoComplete="off"
          />
        </Field>
      </div>
    </Section>
  )
}
