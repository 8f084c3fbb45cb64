import type { Draft } from '../../../editor/use-draft.ts'
import { Choices } from '../../../ui/form/choices.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Input } from '../../../ui/form/input.tsx'
import type { ZonedTime } from '../../../ui/form/zoned-time.ts'
import { timeProblem, ZonedTimeFields } from '../../../ui/form/zoned-time-fields.tsx'
import type { CampaignValues } from './campaign-values.ts'
import { Section } from './section.tsx'

/** When it is sent: now, or at a time. */
export type When = { kind: 'now' | 'later' } & ZonedTime

const KINDS = [
  { value: 'now', label: 'Now', hint: 'In ten seconds; until then you can undo it.' },
  { value: 'later', label: 'At a time', hint: 'It starts automatically. Until then you can change or unschedule it.' },
]

/** Why the time cannot be used; undefined if it can. */
export function whenProblem(when: When, now = Date.now()): string | undefined {
  return when.kind === 'now' ? undefined : timeProblem(when, { now })
}

type WhenSectionProps = { when: When; onWhen: (when: When) => void; draft: Draft<CampaignValues> }

export function WhenSection({ when, onWhen, draft }: WhenSectionProps) {
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
          {when.kind === 'later' && <ZonedTimeFields time={when} onTime={(time) => onWhen({ ...when, ...time })} problem={problem} />}
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
