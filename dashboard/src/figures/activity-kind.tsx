import type { Activity } from '@sterna/sdk'
import {
  Ban,
  Bell,
  BellOff,
  CircleAlert,
  Inbox,
  type LucideIcon,
  Mail,
  MailCheck,
  MailOpen,
  Megaphone,
  MousePointerClick,
  Workflow,
  Zap,
} from 'lucide-react'

const GOOD = 'text-good'
const DANGER = 'text-danger'
const ACCENT = 'text-accent'
const MUTED = 'text-muted'

const LOOKS: Record<Activity['type'], [icon: LucideIcon, colour: string]> = {
  'event.triggered': [Zap, ACCENT],
  'email.sent': [Mail, MUTED],
  'email.delivered': [MailCheck, GOOD],
  'email.opened': [MailOpen, ACCENT],
  'email.clicked': [MousePointerClick, ACCENT],
  'email.bounced': [CircleAlert, DANGER],
  'email.complaint': [CircleAlert, DANGER],
  'email.failed': [CircleAlert, DANGER],
  'email.received': [Inbox, GOOD],
  'email.skipped': [Ban, MUTED],
  'contact.subscribed': [Bell, GOOD],
  'contact.unsubscribed': [BellOff, MUTED],
  'contact.suppressed': [Ban, DANGER],
  'workflow.started': [Workflow, MUTED],
  'workflow.completed': [Workflow, GOOD],
  'workflow.failed': [Workflow, DANGER],
  'campaign.sent': [Megaphone, ACCENT],
}

/** An icon for a kind of activity; its word stands beside it. */
export function ActivityKind({ type }: { type: Activity['type'] }) {
  const [Icon, colour] = LOOKS[type] ?? [Zap, MUTED]
  return <Icon className={`size-4 shrink-0 ${colour}`} aria-hidden="true" />
}
