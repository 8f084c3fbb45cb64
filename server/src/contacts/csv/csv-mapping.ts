import { AppError, invalid } from '../../lib/errors/errors.ts'
import { isOptOutName } from './csv-columns.ts'

/** The target of a column: `email`, `subscribed`, a field (`plan` or `data.plan`), or null to skip it. By the name in the header. */
export type ColumnMapping = ReadonlyMap<string, string | null>

const MAX_KEY_BYTES = 255
const FIELD_PREFIX = 'data.'

/** Reads the multipart field `mapping`. */
export function readMapping(text: string): ColumnMapping {
  const given = parse(text)
  const problems = Object.entries(given).flatMap(([column, target]) => {
    const message = problemOf(column, target)
    return message ? { field: `mapping.${column.slice(0, 100)}`, message, code: 'custom' as const } : []
  })
  if (problems.length) throw new AppError('VALIDATION_ERROR', { errors: problems.slice(0, 50) })
  return new Map(Object.entries(given).map(([column, target]) => [column.trim(), target as string | null]))
}

function parse(text: string): Record<string, unknown> {
  try {
    const given: unknown = JSON.parse(text)
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given as Record<string, unknown>
  } catch {
    // Refused below.
  }
  return invalid('mapping', 'Must be a JSON object: the name of each column and its target.', 'invalid_type')
}

function problemOf(column: string, target: unknown) {
  if (target === null) return undefined
  if (typeof target !== 'string') return 'Must be "email", "subscribed", the name of a field, or null to skip the column.'
  const key = fieldOfTarget(target)
  if (key.trim() === '') return 'A field needs a name.'
  if (key.includes('\0')) return 'Must not contain the character U+0000.'
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return `The name of a field has at most ${MAX_KEY_BYTES} bytes.`
  // Its "yes" would subscribe everybody who opted out.
  if (target === 'subscribed' && isOptOutName(column))
    return 'This column says who opted out. Leave it out of the mapping: it is read as such.'
  return undefined
}

/** The key in `data` that a target means. */
export const fieldOfTarget = (target: string) => (target.startsWith(FIELD_PREFIX) ? target.slice(FIELD_PREFIX.length) : target)

/** The one column with this target: -1 for none. */
export function findTarget(names: string[], mapping: ColumnMapping, target: 'email' | 'subscribed') {
  const [first = -1, second] = names.flatMap((name, column) => (mapping.get(name) === target ? column : []))
  return second === undefined ? first : invalid('mapping', `Two columns are mapped to "${target}".`)
}

/** A column that the file does not have is probably misspelt. */
export function refuseUnknownColumns(names: string[], mapping: ColumnMapping) {
  const unknown = [...mapping.keys()].find((column) => !names.includes(column))
  if (unknown !== undefined) invalid(`mapping.${unknown.slice(0, 100)}`, 'The file has no such column.')
}
