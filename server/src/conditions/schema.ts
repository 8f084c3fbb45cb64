import { z } from 'zod'
import { MAX_ISSUES } from '../http/core/bounds.ts'
import { type FieldCode, type FieldIssue, fail, invalid } from '../lib/errors/errors.ts'
import { KB } from '../lib/text/units.ts'
import { OPERATORS, UNITS } from './operators.ts'
import { readPredicate } from './predicate.ts'

const MAX_DEPTH = 10
const MAX_FILTERS = 100
const MAX_GROUPS = 100
const MAX_TEXT_BYTES = KB
const MAX_TREE_BYTES = 64 * KB
const LOGICS = ['AND', 'OR'] as const

const Filter = z
  .object({
    field: z
      .string()
      .max(MAX_TEXT_BYTES)
      .describe(
        '`email`, `subscribed`, `createdAt`, `updatedAt`, `data.<path>`, `event.<name>`, `email.<activity>` (sent, delivered, opened, clicked, bounced, complained) or `segment.<id>`.',
      ),
    operator: z.enum(OPERATORS),
    value: z.union([z.string().max(MAX_TEXT_BYTES), z.number(), z.boolean()]).optional(),
    unit: z.enum(UNITS).optional().describe('Unit of `value` for operators that take a period.'),
  })
  .meta({ id: 'ConditionFilter' })

export type ConditionFilter = z.output<typeof Filter>
export type ConditionGroup = { filters: ConditionFilter[]; conditions?: ConditionTree | undefined }
export type ConditionTree = { logic: 'AND' | 'OR'; groups: ConditionGroup[] }

/** The tree as stored and shown. `readCondition` holds the rules that a schema cannot express: use it on what a caller sends. */
export const Condition: z.ZodType<ConditionTree> = z
  .object({
    logic: z.enum(LOGICS).describe('Joins the groups. Within a group everything must hold.'),
    groups: z
      .array(
        z.object({
          filters: z.array(Filter).max(MAX_FILTERS),
          conditions: z
            .lazy(() => Condition)
            .optional()
            .describe('Nested conditions, which must hold as well.'),
        }),
      )
      .min(1)
      .max(MAX_GROUPS),
  })
  .meta({ id: 'Condition', description: 'Selects contacts: groups of filters, nested up to 10 levels, with at most 100 filters.' })

type Reading = { issues: FieldIssue[]; filters: number }
type Path = readonly PropertyKey[]
type Raw = Record<string, unknown>

/**
 * Reads a tree that a caller sent: checks all of it, drops unknown keys, and refuses with the dot paths of what is wrong. `path` is the
 * field of the request that holds the tree. Written by hand because a tree of any size and depth must be refused quickly.
 */
export function readCondition(value: unknown, path: string): ConditionTree {
  const reading: Reading = { issues: [], filters: 0 }
  const tree = readTree(reading, value, [path], 1)
  if (reading.filters > MAX_FILTERS) report(reading, [path], `At most ${MAX_FILTERS} filters.`, 'too_big')
  if (reading.issues.length) fail('VALIDATION_ERROR', { errors: reading.issues })
  if (Buffer.byteLength(JSON.stringify(tree)) > MAX_TREE_BYTES) invalid(path, `At most ${MAX_TREE_BYTES / KB} KB.`, 'too_big')
  return tree!
}

/** Undefined when something was wrong. Stops at the limits, so that the work is bounded whatever the caller sent. */
function readTree(reading: Reading, value: unknown, path: Path, depth: number): ConditionTree | undefined {
  if (depth > MAX_DEPTH) return report(reading, path, `Conditions are nested at most ${MAX_DEPTH} levels deep.`, 'too_big')
  if (!isObject(value)) return reportType(reading, path, value, 'object')
  const logic = readOption(reading, value, 'logic', path, LOGICS)
  const groups = readList(reading, value, 'groups', path, MAX_GROUPS)
  if (groups?.length === 0) return report(reading, [...path, 'groups'], 'Must have at least one group.', 'too_small')
  const read = groups?.map((group, index) => readGroup(reading, group, [...path, 'groups', index], depth))
  return logic && read?.every((group) => group !== undefined) ? { logic, groups: read } : undefined
}

function readGroup(reading: Reading, value: unknown, path: Path, depth: number): ConditionGroup | undefined {
  if (isOver(reading)) return undefined
  if (!isObject(value)) return reportType(reading, path, value, 'object')
  const nested = own(value, 'conditions') ?? undefined
  const list = own(value, 'filters') === undefined && nested !== undefined ? [] : readList(reading, value, 'filters', path, MAX_FILTERS)
  if (!list) return undefined
  if (!list.length && nested === undefined)
    return report(reading, [...path, 'filters'], 'A group has at least one filter, or nested conditions.', 'too_small')
  const filters = list.map((filter, index) => readFilter(reading, filter, [...path, 'filters', index]))
  const conditions = nested === undefined ? undefined : readTree(reading, nested, [...path, 'conditions'], depth + 1)
  if (!filters.every((filter) => filter !== undefined) || (nested !== undefined && !conditions)) return undefined
  return conditions ? { filters, conditions } : { filters }
}

function readFilter(reading: Reading, value: unknown, path: Path): ConditionFilter | undefined {
  if (++reading.filters > MAX_FILTERS || isOver(reading)) return undefined
  if (!isObject(value)) return reportType(reading, path, value, 'object')
  const field = readText(reading, value, 'field', path)
  const operator = readOption(reading, value, 'operator', path, OPERATORS)
  if (field === undefined || operator === undefined) return undefined
  const given = own(value, 'value') ?? undefined
  if (typeof given === 'string' && !isPlainText(reading, given, [...path, 'value'])) return undefined
  const read = readPredicate({ field, operator, value: given, unit: own(value, 'unit') ?? undefined })
  if ('problem' in read) return report(reading, [...path, read.problem.of], read.problem.message, read.problem.code)
  return { field, operator, ...read.kept }
}

function readOption<Option extends string>(reading: Reading, value: Raw, key: string, path: Path, options: readonly Option[]) {
  const given = own(value, key)
  if (typeof given !== 'string') return reportType(reading, [...path, key], given, 'string')
  const known = options.find((option) => option === given)
  return known ?? report(reading, [...path, key], `Must be one of: ${options.join(', ')}.`, 'invalid_enum_value')
}

function readList(reading: Reading, value: Raw, key: string, path: Path, max: number): unknown[] | undefined {
  const given = own(value, key)
  if (!Array.isArray(given)) return reportType(reading, [...path, key], given, 'array')
  return given.length <= max ? given : report(reading, [...path, key], `Must be at most ${max} items.`, 'too_big')
}

function readText(reading: Reading, value: Raw, key: string, path: Path) {
  const given = own(value, key)
  if (typeof given !== 'string') return reportType(reading, [...path, key], given, 'string')
  return isPlainText(reading, given, [...path, key]) ? given : undefined
}

function isPlainText(reading: Reading, text: string, path: Path) {
  const issues = reading.issues.length
  if (text.length > MAX_TEXT_BYTES || Buffer.byteLength(text) > MAX_TEXT_BYTES) report(reading, path, 'At most 1 KB.', 'too_big')
  else if (text.includes('\0') || !text.isWellFormed()) report(reading, path, 'Has a character that cannot be stored.', 'invalid_string')
  return reading.issues.length === issues
}

function report(reading: Reading, path: Path, message: string, code: FieldCode): undefined {
  if (reading.issues.length < MAX_ISSUES) reading.issues.push({ field: path.join('.'), message, code })
}

function reportType(reading: Reading, path: Path, given: unknown, expected: string): undefined {
  if (given === undefined || given === null) report(reading, path, 'Required.', 'required')
  else report(reading, path, `Expected ${expected}.`, 'invalid_type')
}

/** Nothing more is read: the tree is refused anyway. */
const isOver = ({ issues, filters }: Reading) => issues.length >= MAX_ISSUES || filters > MAX_FILTERS

/** Only what the caller sent: `constructor` is no key of every object. */
const own = (value: Raw, key: string) => (Object.hasOwn(value, key) ? value[key] : undefined)

const isObject = (value: unknown): value is Raw => typeof value === 'object' && value !== null && !Array.isArray(value)
