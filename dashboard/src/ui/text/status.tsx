import type { ReactNode } from 'react'

type Tone = 'neutral' | 'accent' | 'good' | 'warning' | 'danger'
type Shape = 'full' | 'ring' | 'half' | 'quarter' | 'dotted' | 'pulse'
type Look = { word: string; tone: Tone; shape: Shape }

const look = (word: string, tone: Tone, shape: Shape): Look => ({ word, tone, shape })

/** The word, colour and shape of every status, by the kind of thing that has it. Shapes differ too, so that colour is never alone. */
export const STATUSES = {
  email: {
    PENDING: look('Queued', 'accent', 'quarter'),
    SCHEDULED: look('Scheduled', 'accent', 'quarter'),
    SENDING: look('Sending', 'accent', 'pulse'),
    SENT: look('Sent', 'good', 'full'),
    DELIVERED: look('Delivered', 'good', 'full'),
    OPENED: look('Opened', 'accent', 'full'),
    CLICKED: look('Clicked', 'accent', 'full'),
    BOUNCED: look('Bounced', 'danger', 'full'),
    COMPLAINED: look('Complained', 'danger', 'full'),
    FAILED: look('Failed', 'danger', 'full'),
    SKIPPED: look('Skipped', 'neutral', 'ring'),
    RECEIVED: look('Received', 'good', 'full'),
    UNKNOWN: look('Outcome unknown', 'warning', 'dotted'),
  },
  campaign: {
    DRAFT: look('Draft', 'neutral', 'ring'),
    SCHEDULED: look('Scheduled', 'accent', 'quarter'),
    SENDING: look('Sending', 'accent', 'pulse'),
    PAUSED: look('Paused', 'warning', 'half'),
    SENT: look('Sent', 'good', 'full'),
    CANCELLED: look('Cancelled', 'neutral', 'ring'),
    FAILED: look('Failed', 'danger', 'full'),
  },
  workflow: {
    enabled: look('On', 'good', 'full'),
    disabled: look('Off', 'neutral', 'ring'),
  },
  execution: {
    RUNNING: look('Running', 'accent', 'pulse'),
    WAITING: look('Waiting', 'accent', 'quarter'),
    COMPLETED: look('Finished', 'good', 'full'),
    EXITED: look('Left early', 'neutral', 'ring'),
    CANCELLED: look('Cancelled', 'neutral', 'ring'),
    FAILED: look('Failed', 'danger', 'full'),
  },
  stepExecution: {
    PENDING: look('Next', 'neutral', 'ring'),
    SCHEDULED: look('Delayed', 'accent', 'quarter'),
    WAITING: look('Waiting', 'accent', 'quarter'),
    RUNNING: look('Running', 'accent', 'pulse'),
    COMPLETED: look('Done', 'good', 'full'),
    SKIPPED: look('Skipped', 'neutral', 'ring'),
    CANCELLED: look('Cancelled', 'neutral', 'ring'),
    FAILED: look('Failed', 'danger', 'full'),
  },
  domain: {
    pending: look('Pending', 'warning', 'quarter'),
    verified: look('Verified', 'good', 'full'),
    failed: look('Failed', 'danger', 'full'),
  },
  endpoint: {
    enabled: look('On', 'good', 'full'),
    failing: look('Failing', 'warning', 'half'),
    disabled: look('Off', 'neutral', 'ring'),
  },
  delivery: {
    pending: look('Waiting', 'accent', 'quarter'),
    delivered: look('Delivered', 'good', 'full'),
    failed: look('Failed', 'danger', 'full'),
  },
  record: {
    pending: look('Not checked yet', 'neutral', 'quarter'),
    found: look('Found', 'good', 'full'),
    missing: look('Missing', 'danger', 'ring'),
    mismatch: look('Different value', 'danger', 'half'),
    unknown: look('DNS did not answer', 'warning', 'dotted'),
    sandbox: look('Not needed in the sandbox', 'neutral', 'ring'),
  },
  contact: {
    subscribed: look('Subscribed', 'good', 'full'),
    // In lists the two look alike: only the consent record knows who opted out.
    unsubscribed: look('Not subscribed', 'neutral', 'ring'),
  },
  reputation: {
    healthy: look('Healthy', 'good', 'full'),
    warning: look('Warning', 'warning', 'half'),
    critical: look('Critical', 'danger', 'full'),
  },
  check: {
    ok: look('OK', 'good', 'full'),
    warn: look('Needs attention', 'warning', 'half'),
    FAIL: look('Fails', 'danger', 'full'),
  },
  job: {
    waiting: look('Waiting', 'accent', 'quarter'),
    active: look('Running', 'accent', 'pulse'),
    completed: look('Done', 'good', 'full'),
    failed: look('Failed', 'danger', 'full'),
  },
} satisfies Record<string, Record<string, Look>>

export type StatusKind = keyof typeof STATUSES

/** The look of a status. One that this version does not know is shown by its name. */
export function lookOf(kind: StatusKind, status: string): Look {
  const known: Record<string, Look> = STATUSES[kind]
  return Object.hasOwn(known, status) ? known[status]! : look(sentence(status), 'neutral', 'ring')
}

const sentence = (status: string) => {
  const words = status.toLowerCase().replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const TONES: Record<Tone, string> = {
  neutral: 'text-muted',
  accent: 'text-accent',
  good: 'text-good',
  warning: 'text-warning',
  danger: 'text-danger',
}

/** A dot and a word. `children` replaces the word where the context needs another. */
export function Status({ kind, status, children }: { kind: StatusKind; status: string; children?: ReactNode }) {
  const { word, tone, shape } = lookOf(kind, status)
  return (
    <span className="inline-flex min-w-0 items-center gap-1.5">
      <StatusDot tone={tone} shape={shape} />
      <span className="truncate">{children || word}</span>
    </span>
  )
}

function StatusDot({ tone, shape }: { tone: Tone; shape: Shape }) {
  return (
    <svg
      viewBox="0 0 8 8"
      aria-hidden="true"
      fill="none"
      className={`size-2 shrink-0 ${TONES[tone]} ${shape === 'pulse' ? 'motion-safe:animate-slow-pulse' : ''}`}
    >
      {shape === 'full' || shape === 'pulse' ? (
        <circle cx="4" cy="4" r="4" fill="currentColor" />
      ) : (
        <circle
          cx="4"
          cy="4"
          r="3.25"
          stroke="currentColor"
          strokeWidth="1.5"
          strokeDasharray={shape === 'dotted' ? '1.5 1.9' : undefined}
        />
      )}
      {shape === 'half' && <path d="M4 0a4 4 0 0 1 0 8Z" fill="currentColor" />}
      {shape === 'quarter' && <path d="M4 4V0a4 4 0 0 1 4 4Z" fill="currentColor" />}
    </svg>
  )
}
