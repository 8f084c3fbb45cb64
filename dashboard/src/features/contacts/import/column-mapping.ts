import type { CsvColumn } from './csv-file.ts'

/** The target of a column. */
export type Target = { kind: 'skip' } | { kind: 'email' } | { kind: 'subscribed' } | { kind: 'field' | 'new'; field: string }

type KnownField = { field: string; type: string }

const looksLikeAddress = (value: string) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value)

/** Prefers a column called email, then one whose name says so, then one that holds addresses. -1 if there is none. */
function findAddress(columns: CsvColumn[]): number {
  const exact = columns.findIndex(({ name }) => name.toLowerCase() === 'email')
  if (exact !== -1) return exact
  // Not all of them: files have typing errors.
  const holds = ({ samples }: CsvColumn) => samples.length > 0 && samples.filter(looksLikeAddress).length * 2 >= samples.length
  const named = columns.findIndex((column) => /mail/i.test(column.name) && holds(column))
  return named === -1 ? columns.findIndex(holds) : named
}

/** The likely targets, for the user to correct. A column without a name cannot be mapped and is skipped. */
export function suggestTargets(columns: CsvColumn[], fields: KnownField[]): Target[] {
  const address = findAddress(columns)
  const subscription = findSubscription(columns)
  return columns.map(({ name }, index): Target => {
    if (index === address) return { kind: 'email' }
    if (name === '') return { kind: 'skip' }
    if (index === subscription) return { kind: 'subscribed' }
    const known = fields.find(({ field }) => field === name) ?? fields.find(({ field }) => lettersOf(field) === lettersOf(name))
    return known ? { kind: 'field', field: known.field } : { kind: 'new', field: fieldNameOf(name) }
  })
}

/** Prefers a column called subscribed. Another name counts only if the column holds answers to a question. -1 if there is none. */
function findSubscription(columns: CsvColumn[]): number {
  const exact = columns.findIndex(({ name }) => name.toLowerCase() === 'subscribed')
  if (exact !== -1) return exact
  const answers = ({ samples }: CsvColumn) => samples.length > 0 && samples.every((value) => YES_OR_NO.test(value.trim()))
  return columns.findIndex((column) => SUBSCRIPTION_NAMES.has(lettersOf(column.name)) && answers(column))
}

const SUBSCRIPTION_NAMES = new Set(['optedin', 'optin', 'emailoptin', 'issubscribed', 'newsletter', 'marketingconsent', 'acceptsmarketing'])
const YES_OR_NO = /^(yes|no|y|n|true|false|t|f|0|1|on|off)$/i

/** `First Name`, `first_name` and `firstName` are the same. */
const lettersOf = (name: string) => name.toLowerCase().replace(/[\s_-]+/g, '')

/** `Full name` becomes `fullName`: a name without spaces is easier to use in templates. */
function fieldNameOf(name: string): string {
  const [first = '', ...others] = name.trim().split(/\s+/)
  if (others.length === 0) return first
  return first.toLowerCase() + others.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/** The field `mapping` of the request. */
export function mappingOf(columns: CsvColumn[], targets: Target[]): Record<string, string | null> {
  return Object.fromEntries(columns.flatMap(({ name }, index) => (name === '' ? [] : [[name, writeTarget(targets[index]!)]])))
}

function writeTarget(target: Target): string | null {
  if (target.kind === 'skip') return null
  return 'field' in target ? `data.${target.field.trim()}` : target.kind
}

/** Why the file cannot be imported like this. Said before anything is uploaded. */
export function mappingProblem(columns: CsvColumn[], targets: Target[]): string | undefined {
  const count = (kind: Target['kind']) => targets.filter((target) => target.kind === kind).length
  if (columns.length === 0) return 'The file is empty.'
  if (count('email') === 0) return 'Choose the column that holds the addresses.'
  if (count('email') > 1) return 'Only one column can hold the addresses.'
  if (count('subscribed') > 1) return 'Only one column can say who is subscribed.'
  if (targets.some((target) => 'field' in target && target.field.trim() === '')) return 'A new field needs a name.'
  const fields = targets.flatMap((target) => ('field' in target ? [target.field.trim()] : []))
  const twice = fields.find((field, index) => fields.indexOf(field) !== index)
  return twice && `Two columns become the field ${twice}. Skip one of them, or give it another name.`
}

const FITS: Record<string, { test: (value: string) => boolean; words: string }> = {
  number: { test: (value) => /^-?\d+(\.\d+)?$/.test(value), words: 'numbers' },
  boolean: { test: (value) => value === 'true' || value === 'false', words: 'true and false' },
  date: { test: (value) => /^\d{4}-\d{2}-\d{2}/.test(value), words: 'dates such as 2026-01-31' },
}

/** A field holds values of another type than this column. They are stored as they are. */
export function typeClash(type: string | undefined, samples: string[]): string | undefined {
  const fits = type ? FITS[type] : undefined
  const other = fits && samples.find((value) => !fits.test(value))
  return other === undefined ? undefined : `The field holds ${fits!.words}; here is “${other}”.`
}
