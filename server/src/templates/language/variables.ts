import { ownValue } from '../../lib/own-value.ts'
import { isAbsent } from './values.ts'

/** The recipient of an email. `data` has the custom fields of the contact, and those given for this email only. */
export type Recipient = {
  id: string
  email: string
  subscribed: boolean
  /** ISO 8601. */
  createdAt: string
  locale?: string | null
  unsubscribeUrl: string
  subscribeUrl: string
  manageUrl: string
  data: Record<string, unknown>
}

/** Reserved names: they take precedence over fields in `data`. */
const STANDARD = {
  id: ({ id }) => id,
  email: ({ email }) => email,
  subscribed: ({ subscribed }) => subscribed,
  createdAt: ({ createdAt }) => createdAt,
  locale: ({ locale, data }) => locale ?? ownValue(data, 'locale'),
  unsubscribeUrl: ({ unsubscribeUrl }) => unsubscribeUrl,
  subscribeUrl: ({ subscribeUrl }) => subscribeUrl,
  manageUrl: ({ manageUrl }) => manageUrl,
  data: ({ data }) => data,
  sterna_id: ({ id }) => id,
  sterna_email: ({ email }) => email,
  service_id: ({ id }) => id,
  service_email: ({ email }) => email,
} satisfies Record<string, (recipient: Recipient) => unknown>

const standard = new Map<string, (recipient: Recipient) => unknown>(Object.entries(STANDARD))

export const isStandard = (name: string) => standard.has(name)

export function lookUpVariable(recipient: Recipient, path: string[]): unknown {
  const [first = '', ...rest] = path
  const read = standard.get(first)
  let value = read ? read(recipient) : ownValue(recipient.data, first)
  for (const key of rest) value = ownValue(value, key)
  return value
}

/** The scope for the engine: `x` is `data.x`, unless the name is reserved. */
export function scopeOf(recipient: Recipient): Record<string, unknown> {
  const scope: Record<string, unknown> = Object.assign(Object.create(null), recipient.data)
  for (const [name, read] of standard) scope[name] = read(recipient)
  return scope
}

export const isMissing = (recipient: Recipient, path: string[]) => isAbsent(lookUpVariable(recipient, path))

/** Whether the recipient has a field, even an empty one. */
export const hasVariable = (recipient: Recipient, path: string[]) => hasPath(scopeOf(recipient), path)

/** Own properties all the way. */
export function hasPath(scope: unknown, path: string[]): boolean {
  let value = scope
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false
    value = (value as Record<string, unknown>)[key]
  }
  return true
}
