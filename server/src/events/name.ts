import { z } from 'zod'

/** Names only the service itself may record. */
const RESERVED = /^(email\..*|contact\.(subscribed|unsubscribed)|segment\..+\.(entry|exit))$/s

/** As a reader would take it: without invisible characters, full-width letters, capitals, or space around or inside. */
const asRead = (name: string) =>
  PLAIN.test(name)
    ? name.replaceAll(' ', '').toLowerCase()
    : name
        .normalize('NFKC')
        .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}\s]/gu, '')
        .toLowerCase()
/** Most names: nothing in them looks like something else. */
const PLAIN = /^[\x20-\x7e]*$/

export const isReserved = (name: string) => RESERVED.test(asRead(name))

/** The name of an event as a customer may track it. */
export const EventName = z
  .string()
  .min(1)
  .max(255)
  .check(({ value: name, issues }) => {
    const read = asRead(name)
    const refuse = (message: string, code: string) => issues.push({ code: 'custom', message, params: { code }, input: name })
    if (read === '' || /[\p{Cc}\u2028\u2029]/u.test(name)) refuse('Must be visible text on one line.', 'invalid_string')
    else if (RESERVED.test(read)) refuse('This name is recorded by the service itself.', 'reserved_event')
  })
