import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { COMPARISONS, TAKEN, UNITS } from '../../src/conditions/operators.ts'
import type { ConditionFilter, ConditionTree } from '../../src/conditions/schema.ts'
import { DAY, HOUR, MINUTE } from '../../src/lib/text/units.ts'
import { anyCharacter } from '../support/any-character.ts'
import type { World } from './readers.ts'

const UNIT_MS = { days: DAY, hours: HOUR, minutes: MINUTE }
/** Few of them, so that contacts are at the edges of periods. */
const somePeriod = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom({ value: 1, unit: 'days' as const }, { value: 24, unit: 'hours' as const }) },
  {
    weight: 1,
    arbitrary: fc
      .record({ value: fc.constantFrom(0, 1, 1.5, 7, 36_500), unit: fc.constantFrom(...UNITS) })
      // Longer than a hundred years: refused.
      .filter(({ value, unit }) => value * UNIT_MS[unit] <= 36_500 * DAY),
  },
)

/** Most contacts have a date, a text and a number in these, and most filters ask for that. The other keys hold anything. */
const KEYS = ['due', 'plan', 'age', 'a', 'a.b', 'b', 'ünï', "it's", 'x y', '0', '__proto__', 'constructor', '$.a', 'a.b.c', '']
const PATHS = [...KEYS.filter(Boolean), 'a.0', 'a.b.b', 'b.a', 'constructor.name', '__proto__.a', 'plan.length']
const EVENT_NAMES = [
  'purchase',
  'email.sent',
  'email.delivery',
  'email.open',
  'email.click',
  'email.bounce',
  'email.complaint',
  "it's",
  'data.x',
  'segment.vip.entry',
  'ünï 💥',
  '%',
]
const ACTIVITIES = ['sent', 'delivered', 'opened', 'clicked', 'bounced', 'complained', 'open', 'click', 'delivery', 'complaint']
const EMAILS = ['ada@example.com', 'bob_b@other.org', 'jürgen@example.com', 'οδος@example.com', 'a%b@example.com', 'ſharp@example.com']
const TEXTS = [
  'pro',
  'PRO',
  'Pro plan',
  'Straße',
  'STRASSE',
  'STRAẞE',
  'ΟΔΟΣ',
  'οδος',
  'οδοσ',
  'İstanbul',
  'istanbul',
  'ıI',
  'K',
  'ſ',
  'Å',
  'ǅ',
  'ꭰ',
  '𐐀𐐨',
  '💥',
  'e\u0301',
  '',
  ' ',
  '%',
  '\\',
  '"',
  'true',
  '36',
  '\u007f',
  '\ufffd',
  '\u2028',
]
const MALFORMED = [
  '2024-13-45',
  '2024-02-30',
  '2023-02-29',
  '1900-02-29',
  '0000-01-01',
  '0000-02-29',
  '275760-09-13T00:00:00Z',
  '-2024-01-01',
  '+002024-01-01',
  '2024-05-01T24:00:00Z',
  '2024-05-01T12:00:60Z',
  '2024-05-01T12:60Z',
  '2024-05-01T12:00:00',
  '2024-05-01 12:00:00Z',
  '2024-05-01t12:00:00z',
  '2024-05-01T12:00:00+15:00',
  '2024-05-01T12:00:00+0200',
  '2024-05-01T12:00:00.Z',
  '2024-05-01T12:00:00.1234567890Z',
  '2024-05-01Z',
  '2024-05-01\n',
  ' 2024-05-01',
  '٢٠٢٤-٠٥-٠١',
  '2024-05',
  '20240501',
  'infinity',
  '-infinity',
  'now',
  'epoch',
  'today',
]
const EDGE_DATES = [
  '2000-02-29',
  '2024-02-29T23:59:59.999999999Z',
  '0001-01-01',
  '0001-01-01T00:00:00+14:59',
  '9999-12-31',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59.9999Z',
  '9999-12-31T23:59:59-14:59',
  '1969-12-31T23:59:59.9999Z',
  '1970-01-01T00:00Z',
]

const anyText = fc.string({ unit: anyCharacter, maxLength: 6 }).filter((text) => !text.includes('\0'))

/** A date in one of the forms that are read as dates. */
const formatted = (time: number) =>
  fc.tuple(fc.constantFrom(0, 1, 2, 3, 4, 5, 6), fc.constantFrom('', '9', '999999', '123456', '0')).map(([form, digits]) => {
    const iso = new Date(time).toISOString()
    if (form === 0) return iso.slice(0, 10)
    if (form === 1) return `${iso.slice(0, 16)}Z`
    if (form === 2) return `${iso.slice(0, 19)}Z`
    if (form === 3) return `${iso.slice(0, 23)}${digits}Z`
    if (form === 4) return `${new Date(time + 2 * HOUR).toISOString().slice(0, 23)}${digits}+02:00`
    if (form === 5) return `${new Date(time - 14.5 * HOUR).toISOString().slice(0, 16)}-14:30`
    return iso
  })

/** Times at the edges of the windows that filters have, and others. */
const timeNear = (now: number) =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.tuple(somePeriod, fc.constantFrom(-1, 0, 1, 500)).map(([{ value, unit }, edge]) => now - value * UNIT_MS[unit] + edge),
    },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 3 * DAY }).map((ms) => now - DAY - ms) },
  )

const dateNear = (now: number) =>
  fc.oneof(
    { weight: 6, arbitrary: timeNear(now).chain(formatted) },
    { weight: 1, arbitrary: fc.constantFrom(...EDGE_DATES) },
    { weight: 2, arbitrary: fc.constantFrom(...MALFORMED) },
  )

const NUMBERS = [0, -0, 1, -1, 36, 36.5, 0.1, 1e15, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 1e-7]
const anyNumber = fc.oneof(fc.constantFrom(...NUMBERS), fc.double({ noNaN: true, noDefaultInfinity: true }))

/** A value of `data` as JSON text, also with numbers beyond those of JavaScript. */
function jsonValue(now: number, depth = 0): fc.Arbitrary<string> {
  const scalar = fc.oneof(
    { weight: 4, arbitrary: fc.oneof(fc.constantFrom(...TEXTS), anyText).map((text) => JSON.stringify(text)) },
    { weight: 4, arbitrary: dateNear(now).map((text) => JSON.stringify(text)) },
    { weight: 3, arbitrary: anyNumber.map((number) => JSON.stringify(number)) },
    { weight: 1, arbitrary: fc.constantFrom('1e400', '-1e400', '123456789012345678901234567890.5', '1.0', '3.60e1') },
    { weight: 2, arbitrary: fc.constantFrom('true', 'false', 'null') },
  )
  if (depth > 2) return scalar
  const nested = jsonValue(now, depth + 1)
  return fc.oneof(
    { weight: 8, arbitrary: scalar },
    { weight: 2, arbitrary: jsonObject(nested) },
    { weight: 1, arbitrary: fc.array(nested, { maxLength: 3 }).map((items) => `[${items.join(',')}]`) },
  )
}

const jsonObject = (value: fc.Arbitrary<string>) =>
  fc
    .uniqueArray(fc.tuple(fc.constantFrom(...KEYS), value), { maxLength: 6, selector: ([key]) => key })
    .map((entries) => `{${entries.map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`)

const contactData = (now: number) =>
  fc
    .record({
      due: dateNear(now).map((text) => JSON.stringify(text)),
      plan: fc.oneof(fc.constantFrom(...TEXTS), anyText).map((text) => JSON.stringify(text)),
      age: anyNumber.map((number) => JSON.stringify(number)),
      others: fc.uniqueArray(fc.tuple(fc.constantFrom(...KEYS), jsonValue(now)), { maxLength: 5, selector: ([key]) => key }),
    })
    // A later key replaces an earlier one.
    .map(
      ({ others, ...usual }) =>
        `{${[...Object.entries(usual), ...others].map(([key, json]) => `${JSON.stringify(key)}:${json}`).join(',')}}`,
    )

/** Contacts with events and memberships. The microseconds of times are cut off by JavaScript, and must not matter. */
export const worldAt = (now: number, segmentIds: string[]): fc.Arbitrary<Omit<World, 'projectId'>> =>
  fc
    .array(
      fc.record({
        email: fc.constantFrom(...EMAILS),
        subscribed: fc.boolean(),
        data: contactData(now),
        createdAt: timeNear(now).map((time) => new Date(time)),
        updatedAt: timeNear(now).map((time) => new Date(time)),
        events: fc.array(
          fc.record({
            name: fc.constantFrom(...EVENT_NAMES),
            at: timeNear(now).map((time) => new Date(Math.max(0, time))),
            data: fc.constantFrom({}, { machine: true }, { machine: false }, { machine: 'true' }, { machine: null }),
          }),
          { maxLength: 8 },
        ),
        segments: fc.subarray(segmentIds),
      }),
      { minLength: 8, maxLength: 16 },
    )
    .map((people) => {
      const rows = people.map((person, index) => ({ ...person, id: randomUUID(), email: `${index}${person.email}` }))
      return {
        contacts: rows.map(({ id, email, subscribed, data, createdAt, updatedAt }) => ({
          id,
          email,
          subscribed,
          data,
          createdAt,
          updatedAt,
        })),
        events: rows.flatMap(({ id, events }) => events.map((event) => ({ ...event, contactId: id }))),
        members: rows.flatMap(({ id, segments }) => segments.map((segmentId) => ({ segmentId, contactId: id }))),
      }
    })

const validDate = (now: number) => fc.oneof(timeNear(now).chain(formatted), fc.constantFrom(...EDGE_DATES))
const valueNumber = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.double({ noNaN: true, min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
)
const someText = fc.oneof(
  fc.constantFrom(...TEXTS.filter((text) => text.trim() !== '')),
  anyText.filter((text) => text.trim() !== ''),
)

/** Operator with its value, for a field that has times. */
const timeFilter = (now: number) =>
  fc.oneof(
    fc.record({ operator: fc.constantFrom('within' as const, 'olderThan' as const), period: somePeriod }).map(flatten),
    fc.record({ operator: fc.constantFrom('equals' as const, 'notEquals' as const, ...COMPARISONS), value: validDate(now) }),
  )

const flatten = <Operator>({
  operator,
  period: { value, unit },
}: {
  operator: Operator
  period: { value: number; unit: 'days' | 'hours' | 'minutes' }
}) => ({
  operator,
  value,
  unit,
})

const textFilter = fc.record({ operator: fc.constantFrom('contains' as const, 'notContains' as const), value: someText })
const numberFilter = fc.record({ operator: fc.constantFrom('equals' as const, 'notEquals' as const, ...COMPARISONS), value: valueNumber })

function dataFilter(now: number) {
  const scalar = fc.oneof(fc.constantFrom(...TEXTS), anyText, dateNear(now), valueNumber, fc.boolean())
  return fc.oneof(
    { weight: 2, arbitrary: timeFilter(now) },
    { weight: 2, arbitrary: fc.record({ operator: fc.constantFrom('equals' as const, 'notEquals' as const), value: scalar }) },
    { weight: 1, arbitrary: numberFilter },
    { weight: 1, arbitrary: textFilter },
    { weight: 1, arbitrary: fc.record({ operator: fc.constantFrom('exists' as const, 'notExists' as const) }) },
  )
}

const eventFilter = (timeless: boolean) =>
  timeless
    ? fc.record({ operator: fc.constantFrom('triggered' as const, 'notTriggered' as const) })
    : fc.oneof(
        fc.record({ operator: fc.constantFrom('triggered' as const, 'notTriggered' as const) }),
        fc
          .record({
            operator: fc.constantFrom('triggeredWithin' as const, 'triggeredOlderThan' as const, 'notTriggeredWithin' as const),
            period: somePeriod,
          })
          .map(flatten),
      )

type Options = { now: number; segmentIds: string[]; timelessEvents?: boolean }

function filterAt({ now, segmentIds, timelessEvents = false }: Options): fc.Arbitrary<ConditionFilter> {
  const on = (fields: string[], rest: fc.Arbitrary<Omit<ConditionFilter, 'field'>>): fc.Arbitrary<ConditionFilter> =>
    fc.tuple(fc.constantFrom(...fields), rest).map(([field, filter]) => ({ field, ...filter }))
  const emailValue = fc.oneof(fc.constantFrom(...EMAILS, 'EXAMPLE', '%', '_', '\\', 'Ü', 'ΟΔΟΣ', 'S'), someText)
  return fc.oneof(
    { weight: 1, arbitrary: on(['email'], fc.record({ operator: fc.constantFrom(...TAKEN.email), value: emailValue })) },
    { weight: 1, arbitrary: on(['subscribed'], fc.record({ operator: fc.constantFrom(...TAKEN.subscribed), value: fc.boolean() })) },
    { weight: 2, arbitrary: on(['createdAt', 'updatedAt'], timeFilter(now)) },
    { weight: 4, arbitrary: on(['data.due'], timeFilter(now)) },
    { weight: 2, arbitrary: on(['data.plan'], textFilter) },
    { weight: 2, arbitrary: on(['data.age'], numberFilter) },
    {
      weight: 5,
      arbitrary: on(
        PATHS.map((path) => `data.${path}`),
        dataFilter(now),
      ),
    },
    {
      weight: 3,
      arbitrary: on(
        [...EVENT_NAMES.map((name) => `event.${name}`), 'purchase', '%', 'segment.vip.entry', ...ACTIVITIES.map((name) => `email.${name}`)],
        eventFilter(timelessEvents),
      ),
    },
    {
      weight: 1,
      arbitrary: on(
        segmentIds.map((id) => `segment.${id}`),
        fc.record({ operator: fc.constantFrom(...TAKEN.segment) }),
      ),
    },
  )
}

export function treeAt(options: Options, depth = 0): fc.Arbitrary<ConditionTree> {
  const filters = (minLength: number) => fc.array(filterAt(options), { minLength, maxLength: 3 })
  const plain = filters(1).map((list) => ({ filters: list }))
  const nested = () => fc.record({ filters: filters(0), conditions: treeAt(options, depth + 1) })
  const group = depth < 2 ? fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: nested() }) : plain
  return fc.record({ logic: fc.constantFrom('AND' as const, 'OR' as const), groups: fc.array(group, { minLength: 1, maxLength: 3 }) })
}

export const someKeys = fc.subarray(KEYS.filter(Boolean), { maxLength: 2 })
/** Late enough that a hundred years earlier is after the year 1, and on a millisecond. */
export const someNow = fc.integer({ min: Date.UTC(2001, 0), max: Date.UTC(2190, 0) })
