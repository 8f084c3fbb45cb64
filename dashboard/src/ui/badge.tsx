import type { ReactNode } from 'react'

const TONES = {
  neutral: 'bg-sunken text-muted',
  accent: 'bg-accent-soft text-accent dark:text-accent-strong',
  warning: 'bg-warning-soft text-warning',
}

export function Badge({ tone = 'neutral', children }: { tone?: keyof typeof TONES; children: ReactNode }) {
  return <span className={`inline-flex items-center rounded-full px-2.5 py-0.5 font-medium text-xs ${TONES[tone]}`}>{children}</span>
}
