import { z } from 'zod'
import { WEBHOOK_ONLY_TYPES } from '../webhooks/facts.ts'

/** Events that Sterna records, apart from those of segments, which have the name of the segment in them. */
const PLATFORM_TYPES = [
  'email.sent',
  'email.delivery',
  'email.open',
  'email.click',
  'email.bounce',
  'email.complaint',
  'email.failed',
  'email.received',
  'contact.subscribed',
  'contact.unsubscribed',
] as const

const NAMED = new Set<string>([...PLATFORM_TYPES, ...WEBHOOK_ONLY_TYPES])
const GROUPS = ['email', 'contact', 'segment', 'event', 'campaign', 'workflow', 'domain', 'project']
const WITH_NAME = /^(segment\..+\.(entry|exit)|event\..+)$/s

/** `event.` and the longest name of an event. */
const MAX_LENGTH = 300
const MAX_TYPES = 100

const isSelector = (given: string) =>
  given === '*' || NAMED.has(given) || WITH_NAME.test(given) || GROUPS.some((group) => given === `${group}.*`)

const Selector = z
  .string()
  .max(MAX_LENGTH)
  .refine(isSelector, { error: 'No such type.', params: { code: 'invalid_enum_value' } })

/** What an endpoint listens to. */
export const Selectors = z
  .array(Selector)
  .min(1)
  .max(MAX_TYPES)
  .transform((given) => [...new Set(given)])
  .meta({
    description:
      '`["*"]` for everything, or types: those under `webhooks` in this document, `segment.<slug>.entry`, `segment.<slug>.exit`, `event.<name>` for tracked events, and groups such as `email.*`.',
  })
