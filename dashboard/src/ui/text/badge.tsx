import type { ReactNode } from 'react'

const TONES = {
  neutral: 'border-line text-muted',
  accent: 'border-accent/40 text-accent dark:text-accent-strong',
  warning: 'border-warning/40 text-warning',
}

/** A short fact about a thing. Statuses are `Status` instead. */
export function Badge({ tone = 'neutral', children }: { tone?: keyof typeof TONES; children: ReactNode }) {
  return (
    <span className={`inline-flex items-center whitespace-nowrap rounded-md border px-1.5 font-medium text-xs leading-5 ${TONES[tone]}`}>
      {children}
    </span>
  )
}
