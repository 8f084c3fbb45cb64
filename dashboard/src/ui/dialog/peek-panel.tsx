import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { IconButton } from '../form/button.tsx'

type PeekPanelProps = { title: string; onClose: () => void; actions?: ReactNode; children: ReactNode }

/**
 * A panel over the right side of a list, for looking. The list below stays usable and keeps the focus, so that J and K move on while it
 * is open. On a phone it covers the page.
 */
export function PeekPanel({ title, onClose, actions, children }: PeekPanelProps) {
  return (
    <aside
      aria-label={title}
      className="fixed inset-y-0 right-0 z-30 flex w-full flex-col border-line border-l bg-surface shadow-float motion-safe:animate-slide-left sm:w-[30rem]"
    >
      <header className="flex min-h-14 items-center gap-2 border-line border-b px-4">
        <h2 className="min-w-0 flex-1 truncate font-semibold text-sm" title={title}>
          {title}
        </h2>
        {actions}
        <IconButton label="Close" hint="Esc" onClick={onClose}>
          <X />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto p-4">{children}</div>
    </aside>
  )
}

/** Facts of a thing, a label and a value each. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[minmax(6rem,auto)_minmax(0,1fr)] gap-x-4 gap-y-1.5 text-ui">{children}</dl>
}

export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{label}</dt>
      <dd className="min-w-0 wrap-break-word">{children}</dd>
    </>
  )
}
