import { CircleAlert, CircleCheck, CircleDashed, TriangleAlert } from 'lucide-react'
import { type ReactNode, useId } from 'react'

const MARKS = {
  done: <CircleCheck className="text-good" aria-label="Complete" />,
  open: <CircleDashed className="text-muted" aria-label="Not complete" />,
  warning: <TriangleAlert className="text-warning" aria-label="Has warnings" />,
  wrong: <CircleAlert className="text-danger" aria-label="Needs a change" />,
}

type SectionProps = { title: string; state: keyof typeof MARKS; note?: ReactNode; children: ReactNode; flush?: boolean }

/** A part of the composer, with its check mark. `flush` content has no padding around it. */
export function Section({ title, state, note, flush = false, children }: SectionProps) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="border-line border-b bg-surface">
      <header className="flex flex-wrap items-center gap-x-2 px-4 pt-4 sm:px-6 lg:px-8 [&>svg]:size-4 [&>svg]:shrink-0">
        {MARKS[state]}
        <h2 id={id} className="font-semibold text-base leading-6">
          {title}
        </h2>
        {note && <span className="min-w-0 text-muted text-ui">{note}</span>}
      </header>
      <div className={flush ? 'pt-3' : 'space-y-4 px-4 pt-3 pb-5 sm:px-6 lg:px-8'}>{children}</div>
    </section>
  )
}
