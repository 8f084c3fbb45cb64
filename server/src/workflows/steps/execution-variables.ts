import type { Recipient } from '../../templates/language/variables.ts'
import type { Running, SimulatedContact } from './step.ts'

type Started = Pick<Running, 'event' | 'context'>

/**
 * Variables besides the fields of the contact: `event`, the context of the execution, and keys of the event that the contact does not have.
 * A field of the contact may have changed since the event, so it takes precedence over the event.
 */
export function executionVariables({ event, context }: Started, stored: Record<string, unknown>): Record<string, unknown> {
  const ofEvent = Object.fromEntries(Object.entries(event?.data ?? {}).filter(([key]) => !Object.hasOwn(stored, key)))
  return { ...ofEvent, ...context, context, ...(event ? { event: { name: event.name, ...event.data } } : {}) }
}

/** A contact as the recipient of a webhook, or of an email that is only shown. Links for preferences belong into real emails only. */
export const personOf = (contact: SimulatedContact, execution: Started): Recipient => ({
  ...contact,
  createdAt: contact.createdAt.toISOString(),
  unsubscribeUrl: '',
  subscribeUrl: '',
  manageUrl: '',
  data: { ...contact.data, ...executionVariables(execution, contact.data) },
})
