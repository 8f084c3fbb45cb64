import {
  Activity,
  Ban,
  ChartLine,
  FileText,
  Globe,
  House,
  Inbox,
  type LucideIcon,
  Mails,
  Megaphone,
  Settings,
  Shapes,
  Stethoscope,
  Users,
  Webhook,
  Workflow,
  Zap,
} from 'lucide-react'

export type Entry = {
  to:
    | '/app/p/$projectId'
    | '/app/p/$projectId/campaigns'
    | '/app/p/$projectId/workflows'
    | '/app/p/$projectId/templates'
    | '/app/p/$projectId/contacts'
    | '/app/p/$projectId/segments'
    | '/app/p/$projectId/emails'
    | '/app/p/$projectId/events'
    | '/app/p/$projectId/activity'
    | '/app/p/$projectId/analytics'
    | '/app/p/$projectId/doctor'
    | '/app/p/$projectId/domains'
    | '/app/p/$projectId/suppressions'
    | '/app/p/$projectId/webhooks'
    | '/app/p/$projectId/sandbox'
    | '/app/p/$projectId/settings'
  label: string
  icon: LucideIcon
  /** The shortcut that opens it. */
  keys: string
  /** The action of the page's main button, which `c` presses. */
  creates?: string
  /** Shown only where the server keeps emails instead of sending them. */
  onlyInSandbox?: boolean
}

/** The navigation. Pages that do not exist yet have no entry. */
export const NAVIGATION: { label?: string; entries: Entry[] }[] = [
  { entries: [{ to: '/app/p/$projectId', label: 'Overview', icon: House, keys: 'g o' }] },
  {
    label: 'Send',
    entries: [
      { to: '/app/p/$projectId/campaigns', label: 'Campaigns', icon: Megaphone, keys: 'g m', creates: 'New campaign' },
      { to: '/app/p/$projectId/workflows', label: 'Workflows', icon: Workflow, keys: 'g w', creates: 'New workflow' },
      { to: '/app/p/$projectId/templates', label: 'Templates', icon: FileText, keys: 'g t', creates: 'New template' },
    ],
  },
  {
    label: 'People',
    entries: [
      { to: '/app/p/$projectId/contacts', label: 'Contacts', icon: Users, keys: 'g c', creates: 'Add contacts' },
      { to: '/app/p/$projectId/segments', label: 'Segments', icon: Shapes, keys: 'g s', creates: 'New segment' },
    ],
  },
  {
    label: 'Watch',
    entries: [
      { to: '/app/p/$projectId/emails', label: 'Emails', icon: Mails, keys: 'g e', creates: 'Send an email' },
      { to: '/app/p/$projectId/activity', label: 'Activity', icon: Activity, keys: 'g a' },
      { to: '/app/p/$projectId/events', label: 'Events', icon: Zap, keys: 'g v', creates: 'Track a test event' },
      { to: '/app/p/$projectId/analytics', label: 'Analytics', icon: ChartLine, keys: 'g n' },
    ],
  },
  {
    label: 'Deliver',
    entries: [
      { to: '/app/p/$projectId/domains', label: 'Domains', icon: Globe, keys: 'g d', creates: 'Add a domain' },
      { to: '/app/p/$projectId/suppressions', label: 'Suppressions', icon: Ban, keys: 'g x', creates: 'Suppress an address or a domain' },
      { to: '/app/p/$projectId/webhooks', label: 'Webhooks', icon: Webhook, keys: 'g k', creates: 'Add a webhook endpoint' },
      { to: '/app/p/$projectId/sandbox', label: 'Sandbox', icon: Inbox, keys: 'g i', onlyInSandbox: true },
    ],
  },
]

/** For operators of the installation. */
export const DOCTOR: Entry = { to: '/app/p/$projectId/doctor', label: 'Doctor', icon: Stethoscope, keys: 'g h' }

export const SETTINGS: Entry = { to: '/app/p/$projectId/settings', label: 'Settings', icon: Settings, keys: 'g ,' }

export const ENTRIES = [...NAVIGATION.flatMap(({ entries }) => entries), DOCTOR, SETTINGS]

/** The first one is the entry of the navigation. */
export const SETTINGS_PAGES = [
  { to: '/app/p/$projectId/settings', label: 'General' },
  { to: '/app/p/$projectId/settings/brand', label: 'Brand' },
  { to: '/app/p/$projectId/settings/tracking', label: 'Tracking' },
  { to: '/app/p/$projectId/settings/keys', label: 'Keys' },
  { to: '/app/p/$projectId/settings/smtp', label: 'SMTP' },
  { to: '/app/p/$projectId/settings/team', label: 'Team' },
  { to: '/app/p/$projectId/settings/billing', label: 'Billing and usage' },
  { to: '/app/p/$projectId/settings/security', label: 'Security' },
  { to: '/app/p/$projectId/settings/audit', label: 'Audit' },
  { to: '/app/p/$projectId/settings/sessions', label: 'Sessions' },
] as const
