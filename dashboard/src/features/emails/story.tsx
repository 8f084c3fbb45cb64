import type { Email } from '@sterna/sdk'
import { ClockTime, Time } from '../../ui/text/time.tsx'
import { type StoryEntry, type Tone, tellStep } from './email-story.ts'

type Told = Pick<Email, 'errorCode' | 'attempts' | 'type'>
type Entry = { at: string; what: string; details: Record<string, unknown> }

const DOTS: Record<Tone, string> = { plain: 'bg-edge', good: 'bg-good', warning: 'bg-warning', danger: 'bg-danger' }

/** The timeline of an email, oldest first. */
export function Story({ email, timeline }: { email: Told; timeline: Entry[] }) {
  return (
    <ol aria-label="Story">
      {timeline.map((entry, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: entries have no id, and are only appended
        <StoryStep key={index} step={tellStep(entry, email)} at={entry.at} isLast={index === timeline.length - 1} />
      ))}
    </ol>
  )
}

function StoryStep({ step: { title, words, reply, tone }, at, isLast }: { step: StoryEntry; at: string; isLast: boolean }) {
  return (
    <li className="relative flex gap-3 pb-4 text-ui last:pb-0">
      {!isLast && <span aria-hidden="true" className="absolute top-4 bottom-0 left-[3.5px] w-px bg-line" />}
      <span aria-hidden="true" className={`mt-1.5 size-2 shrink-0 rounded-full ${DOTS[tone]}`} />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-baseline justify-between gap-x-3">
          <span className="font-medium">{title}</span>
          <span className="text-muted text-xs">
            <Time value={at} /> · <ClockTime value={at} />
          </span>
        </p>
        {words && <p className="wrap-break-word text-muted">{words}</p>}
        {reply && <p className="mt-1 whitespace-pre-wrap wrap-break-word rounded-md bg-sunken px-2 py-1 font-mono text-code">{reply}</p>}
      </div>
    </li>
  )
}
