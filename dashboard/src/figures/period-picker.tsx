import { useNavigate } from '@tanstack/react-router'
import { Button } from '../ui/form/button.tsx'
import { PERIODS } from './period.ts'

/** The length of the period, in the URL as `days`. */
export function PeriodPicker({ days }: { days: number }) {
  const navigate = useNavigate()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in one line
    <div role="group" aria-label="Period" className="flex gap-1">
      {PERIODS.map((each) => (
        <Button
          key={each}
          size="sm"
          aria-pressed={each === days}
          className="aria-pressed:border-accent aria-pressed:bg-accent-soft"
          onClick={() =>
            // The search of "this route" cannot be typed here: several pages have a period.
            navigate({
              to: '.',
              search: ((current: object) => ({ ...current, days: String(each) })) as never,
              replace: true,
              resetScroll: false,
            })
          }
        >
          {each} days
        </Button>
      ))}
    </div>
  )
}
