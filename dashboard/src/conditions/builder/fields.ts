import { ownValue } from '../../ui/form/own-value.ts'
import { isEventOperator } from '../sentence/sentence.ts'

/** The type of a field. Its operators and its input follow from it. */
export type FieldType = 'address' | 'string' | 'number' | 'boolean' | 'date' | 'event' | 'segment'

/** `type` is undefined for custom data that no contact has yet. */
export type FieldChoice = { field: string; label: string; type?: FieldType; coverage?: number }

type DataField = { field: string; type: 'string' | 'number' | 'boolean' | 'date'; coverage?: number }

/** The data from which the groups make their choices. */
export type FieldSources = {
  /** Custom fields of contacts, by their names in `data`. */
  fields: DataField[]
  events: string[]
  segments: { id: string; name: string }[]
  /** Fields of the event that starts a workflow, such as `event.amount`. Undefined outside of workflows. */
  started?: DataField[] | undefined
}

export type FieldGroup = {
  label: string
  /** Only for the branches of workflows. */
  ofExecutions?: true
  choices: (sources: FieldSources) => FieldChoice[]
  /** Whether a filter is about a field of this group. The first group that says so has it. */
  owns: (field: string, operator: string) => boolean
  /** A field of this group that is not among the choices. */
  other: (field: string, sources: FieldSources) => FieldChoice
  /** Fields by a name that was typed, for what was never recorded yet. */
  named?: (name: string) => FieldChoice[]
}

const STANDARD: FieldChoice[] = [
  { field: 'email', label: 'Email address', type: 'address' },
  { field: 'subscribed', label: 'Subscribed', type: 'boolean' },
  { field: 'createdAt', label: 'Created', type: 'date' },
  { field: 'updatedAt', label: 'Last changed', type: 'date' },
]

const ACTIVITIES: Record<string, string> = {
  'email.sent': 'Was sent an email',
  'email.delivered': 'Had an email delivered',
  'email.opened': 'Opened an email',
  'email.clicked': 'Clicked in an email',
  'email.bounced': 'Had an email bounce',
  'email.complained': 'Complained about an email',
}
/** Other spellings that the API takes. */
const SPELLINGS: Record<string, string> = {
  'email.send': 'email.sent',
  'email.delivery': 'email.delivered',
  'email.deliver': 'email.delivered',
  'email.open': 'email.opened',
  'email.click': 'email.clicked',
  'email.bounce': 'email.bounced',
  'email.complain': 'email.complained',
  'email.complaint': 'email.complained',
}

const activityOf = (field: string) => ownValue(ACTIVITIES, ownValue(SPELLINGS, field) ?? field)

/** Characters and steps that the server takes in the path of a custom field. */
const RESERVED_IN_PATH = /[=;`\\\p{Cc}\u2028\u2029]/u
const MAX_STEPS = 32
const MAX_EVENT_NAME = 255
const isPath = (path: string) => path !== '' && path.split('.').length <= MAX_STEPS && !RESERVED_IN_PATH.test(path)
const isEventName = (name: string) => name !== '' && name.length <= MAX_EVENT_NAME

const SEGMENT = /^segment\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const CONTEXT = /^(context|workflow)\./
const STARTED = /^event\./

/**
 * The groups of fields that a line of a condition can be about, in the order in which they are offered. A new kind of field is one entry
 * here.
 */
export const FIELD_GROUPS: FieldGroup[] = [
  {
    label: 'Contact',
    choices: () => STANDARD,
    owns: (field) => STANDARD.some((each) => each.field === field),
    other: (field) => ({ field, label: field }),
  },
  {
    label: 'Contact data',
    choices: ({ fields }) =>
      fields
        .filter(({ field }) => isPath(field))
        .map(({ field, type, coverage }) => ({ field: `data.${field}`, label: field, type, ...(coverage !== undefined && { coverage }) })),
    owns: (field) => field.startsWith('data.') && isPath(field.slice('data.'.length)),
    other: (field) => ({ field, label: field.slice('data.'.length) }),
    named: (name) => (isPath(name) ? [{ field: `data.${name}`, label: name }] : []),
  },
  {
    label: 'Data of the event that started it',
    ofExecutions: true,
    choices: ({ started = [] }) => started.map(({ field, type }) => ({ field, label: field.replace(STARTED, ''), type })),
    owns: (field, operator) => STARTED.test(field) && !isEventOperator(operator) && isPath(field.replace(STARTED, '')),
    other: (field) => ({ field, label: field.replace(STARTED, '') }),
    named: (name) => (isPath(name) ? [{ field: `event.${name}`, label: name }] : []),
  },
  {
    label: 'Context of the execution',
    ofExecutions: true,
    choices: () => [],
    owns: (field) => CONTEXT.test(field) && isPath(field.replace(CONTEXT, '')),
    other: (field) => ({ field, label: field.replace(CONTEXT, '') }),
    named: (name) => (isPath(name) ? [{ field: `context.${name}`, label: name }] : []),
  },
  {
    label: 'Email activity',
    choices: () => Object.entries(ACTIVITIES).map(([field, label]) => ({ field, label, type: 'event' })),
    owns: (field) => activityOf(field) !== undefined,
    other: (field) => ({ field, label: activityOf(field)!, type: 'event' }),
  },
  {
    label: 'Segments',
    choices: ({ segments }) => segments.map(({ id, name }) => ({ field: `segment.${id}`, label: name, type: 'segment' })),
    owns: (field) => SEGMENT.test(field),
    other: (field) => ({ field, label: 'A segment that was deleted', type: 'segment' }),
  },
  {
    label: 'Events',
    choices: ({ events }) => events.filter(isEventName).map((name) => ({ field: `event.${name}`, label: name, type: 'event' })),
    // Without the prefix too, as the API takes it. The names of other fields are taken.
    owns: (field, operator) => isEventOperator(operator) && !/^(data|email)\./.test(field) && isEventName(field.replace(STARTED, '')),
    other: (field) => ({ field, label: field.replace(STARTED, ''), type: 'event' }),
    named: (name) => (isEventName(name) ? [{ field: `event.${name}`, label: name, type: 'event' }] : []),
  },
]

/** A field that a filter is about, with the group that it is in. */
export type FoundField = FieldChoice & { group: string }

/** The fields of a project, ready to be searched, and to be found for each row. */
export type FieldCatalog = {
  groups: { label: string; choices: FieldChoice[]; named?: (name: string) => FieldChoice[] }[]
  /** Undefined if the builder knows no such field. */
  find: (field: string, operator: string) => FoundField | undefined
}

export function catalogOf(sources: FieldSources): FieldCatalog {
  const isOffered = ({ ofExecutions }: FieldGroup) => !ofExecutions || sources.started !== undefined
  const groups = FIELD_GROUPS.filter(isOffered).map((group) => {
    const choices = group.choices(sources)
    return { ...group, choices, byField: new Map(choices.map((choice) => [choice.field, choice])) }
  })
  return {
    groups,
    find: (field, operator) => {
      const group = groups.find(({ owns }) => owns(field, operator))
      return group && { ...(group.byField.get(field) ?? group.other(field, sources)), group: group.label }
    },
  }
}

const MAX_SHOWN_PER_GROUP = 30

/** The picker's result of a search: the fields of each group whose names contain all its words. */
export function searchFields({ groups }: FieldCatalog, q: string) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  return groups
    .map(({ label, choices, named }) => {
      const found = choices.filter((choice) => matchesAll(`${choice.label} ${label}`, words))
      const name = q.trim()
      const isListed = choices.some((choice) => choice.label === name)
      return {
        label,
        choices: found.slice(0, MAX_SHOWN_PER_GROUP),
        hidden: Math.max(0, found.length - MAX_SHOWN_PER_GROUP),
        named: name && !isListed ? (named?.(name) ?? []) : [],
      }
    })
    .filter(({ choices, named }) => choices.length + named.length > 0)
}

function matchesAll(text: string, words: string[]): boolean {
  const lower = text.toLowerCase()
  return words.every((word) => lower.includes(word))
}
