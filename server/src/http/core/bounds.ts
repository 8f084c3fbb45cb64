import { z } from 'zod'
import { AppError, type FieldIssue } from '../../lib/errors/errors.ts'
import { fieldOf } from './field.ts'
import { findUnstorable } from './json.ts'

/** Issues per response. With one per invalid element a response could be larger than the request. */
export const MAX_ISSUES = 50

type Schema = z.core.$ZodType
type Finding = FieldIssue & { plain?: true }
type Check = (value: unknown, path: PropertyKey[], issues: Finding[]) => void
type Checks = {
  /** Undefined where a schema contains no array and no record. */
  size: Check | undefined
  storable: Check
}

/** Arrays whose excess is refused with 400 and a bare `{ error: message }`, as the API defines for a few. */
const plain = z.registry<{ message: string }>()

/** Marks a list: more items than its `.max()` are refused with 400 and a bare `{ error: message }`. */
export function refusedPlainly<List extends z.ZodType>(list: List, message: string) {
  plain.add(list, { message })
  return list
}

/**
 * Compiles the schema of a body to a check that runs before zod, which parses all of an array or record before it checks the length.
 * Throws for an array without `.max()` and a record without `.meta({ maxProperties })`.
 */
export function compileBounds(schema: Schema): (body: unknown, options: { isSuspect: boolean }) => AppError | undefined {
  const { size, storable } = compile(schema, ['body'], new Map())
  return (body, { isSuspect }) => {
    const issues: Finding[] = []
    size?.(body, [], issues)
    if (isSuspect && !issues.length) storable(body, [], issues)
    return issues.length ? refusalOf(issues) : undefined
  }
}

function refusalOf(issues: Finding[]) {
  const bare = issues.find(({ plain }) => plain)
  if (bare) return new AppError('BAD_REQUEST', { message: bare.message, plain: true })
  return new AppError('VALIDATION_ERROR', { errors: issues.slice(0, MAX_ISSUES) })
}

type Known = Map<Schema, Checks>

function compile(schema: Schema, where: string[], known: Known): Checks {
  const seen = known.get(schema)
  if (seen) return seen
  // Recursive schemas find this placeholder, which calls the compiled checks.
  const own: Checks = { size: (...args) => compiled.size?.(...args), storable: (...args) => compiled.storable(...args) }
  known.set(schema, own)
  const compiled = compileNew(schema as z.core.$ZodTypes, where, known)
  known.set(schema, compiled)
  return compiled
}

const LEAF: Checks = { size: undefined, storable: findUnstorable }

function compileNew(schema: z.core.$ZodTypes, where: string[], known: Known): Checks {
  const { def } = schema._zod
  switch (def.type) {
    case 'object':
      return objectChecks(schema, def, where, known)
    case 'array':
      return arrayChecks(schema, compile(def.element, [...where, '[]'], known), where)
    case 'record':
      return recordChecks(maxKeysOf(schema, where), compile(def.valueType, [...where, '*'], known))
    case 'union':
      return unionChecks(def.options, where, known)
    case 'pipe':
      return compile(def.in, where, known)
    case 'lazy':
      return compile(def.getter(), where, known)
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'catch':
    case 'readonly':
    case 'nonoptional':
      return compile(def.innerType, where, known)
    case 'tuple':
    case 'map':
    case 'set':
    case 'intersection':
    case 'promise':
      throw new Error(`${where.join('.')}: a body cannot contain a ${def.type} yet; implement its bound in http/core/bounds.ts`)
    default:
      // Scalars, and values that zod does not inspect.
      return LEAF
  }
}

function objectChecks(schema: Schema, def: z.core.$ZodObjectDef, where: string[], known: Known): Checks {
  // A strict object also has a catchall: `never`.
  if (def.catchall && (def.catchall as z.core.$ZodTypes)._zod.def.type !== 'never')
    return recordChecks(maxKeysOf(schema, where), compile(def.catchall, [...where, '*'], known))
  const fields = Object.entries(def.shape).map(([name, field]) => [name, compile(field, [...where, name], known)] as const)
  const sized = fields.filter(([, { size }]) => size)
  const size: Check = (value, path, issues) => visit(value, sized, 'size', path, issues)
  return {
    size: sized.length ? size : undefined,
    // Only fields of the schema: unknown keys are ignored.
    storable: (value, path, issues) => visit(value, fields, 'storable', path, issues),
  }
}

function visit(value: unknown, fields: (readonly [string, Checks])[], kind: keyof Checks, path: PropertyKey[], issues: Finding[]) {
  if (!isObject(value)) return
  const last = path.push('') - 1
  for (const [name, checks] of fields) {
    const field = Object.hasOwn(value, name) ? value[name] : undefined
    if (field === undefined) continue
    path[last] = name
    checks[kind]!(field, path, issues)
  }
  path.pop()
}

function arrayChecks(schema: Schema, item: Checks, where: string[]): Checks {
  const max = maxItemsOf(schema, where)
  const each = (kind: keyof Checks): Check => {
    return (value, path, issues) => {
      if (!Array.isArray(value)) return
      const last = path.push(0) - 1
      for (let index = 0; index < value.length; index++) {
        path[last] = index
        item[kind]!(value[index], path, issues)
      }
      path.pop()
    }
  }
  const eachSize = item.size && each('size')
  return {
    size(value, path, issues) {
      if (!Array.isArray(value)) return
      if (value.length <= max) return eachSize?.(value, path, issues)
      const message = plain.get(schema)?.message
      const issue = { field: fieldOf(path), message: message ?? `Must be at most ${max} items.`, code: 'too_big' as const }
      issues.push(message ? { ...issue, plain: true } : issue)
    },
    storable: each('storable'),
  }
}

function maxItemsOf(schema: Schema, where: string[]) {
  const checks = (schema._zod.def.checks ?? []).map(({ _zod: { def } }) => def as { check: string; maximum?: number })
  const max = checks.find(({ check }) => check === 'max_length')?.maximum
  if (max === undefined) throw new Error(`${where.join('.')} is an array without .max()`)
  return max
}

function maxKeysOf(schema: Schema, where: string[]) {
  const max = z.globalRegistry.get(schema)?.maxProperties
  if (typeof max !== 'number') throw new Error(`${where.join('.')} is a record without .meta({ maxProperties })`)
  return max
}

function recordChecks(max: number, item: Checks): Checks {
  return {
    size(value, path, issues) {
      if (!isObject(value)) return
      let keys = 0
      for (const _key in value) if (++keys > max) break
      if (keys > max) issues.push({ field: fieldOf(path), message: `At most ${max} keys.`, code: 'too_big' })
      else if (item.size) {
        const fields = Object.keys(value).map((key) => [key, item] as const)
        visit(value, fields, 'size', path, issues)
      }
    },
    storable: findUnstorable,
  }
}

/** A value is within bounds when it is within those of one option that accepts its kind. */
function unionChecks(options: readonly Schema[], where: string[], known: Known): Checks {
  const compiled = options.map((option) => ({ takes: kindTaken(option), checks: compile(option, where, known) }))
  const size: Check = (value, path, issues) => {
    const kind = Array.isArray(value) ? 'array' : isObject(value) ? 'object' : 'other'
    const fitting = compiled.filter(({ takes }) => takes === kind || takes === 'any')
    const found = fitting.map(({ checks }) => {
      const own: Finding[] = []
      checks.size?.(value, path, own)
      return own
    })
    if (found.length && found.every((own) => own.length)) issues.push(...found[0]!)
  }
  return { size: compiled.some(({ checks }) => checks.size) ? size : undefined, storable: findUnstorable }
}

function kindTaken(schema: Schema): 'array' | 'object' | 'other' | 'any' {
  const { def } = (schema as z.core.$ZodTypes)._zod
  if (def.type === 'array') return 'array'
  if (def.type === 'object' || def.type === 'record') return 'object'
  if (def.type === 'pipe') return kindTaken(def.in)
  if (def.type === 'union' || def.type === 'lazy' || def.type === 'unknown' || def.type === 'any') return 'any'
  return 'innerType' in def ? kindTaken(def.innerType) : 'other'
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)
