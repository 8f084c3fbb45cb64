import { z } from 'zod'

/** Names that only the service itself records. */
const RESERVED = /^(email\..*|contact\.(subscribed|unsubscribed)|segment\..+\.(entry|exit))$/s

/** Removes invisible characters and white space, and folds case and full-width letters, so that look-alikes of reserved names are found. */
const normalizeName = (name: string) =>
  PLAIN.test(name)
    ? name.replaceAll(' ', '').toLowerCase()
    : name
        .normalize('NFKC')
        .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}\s]/gu, '')
        .toLowerCase()
/** Fast path for most names: ASCII has no look-alikes to fold. */
const PLAIN = /^[\x20-\x7e]*$/

export const isReserved = (name: string) => RESERVED.test(normalizeName(name))

/** Name of an event that an API client tracks. */
export const EventName = z
  .string()
  .min(1)
  .max(255)
  .check(({ value: name, issues }) => {
    const normalized = normalizeName(name)
    const refuse = (message: string, code: string) => issues.push({ code: 'custom', message, params: { code }, input: name })
    if (normalized === '' || /[\p{Cc}\u2028\u2029]/u.test(name)) refuse('Must be visible text on one line.', 'invalid_string')
    else if (RESERVED.test(normalized)) refuse('This name is recorded by the service itself.', 'reserved_event')
  })
