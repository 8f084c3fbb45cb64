import type { FastifySchemaCompiler } from 'fastify'
import { z } from 'zod'
import { AppError, FIELD_CODES, type FieldCode, type FieldIssue } from '../../lib/errors/errors.ts'
import { readAddress } from '../../lib/text/address.ts'
import { compileBounds, MAX_ISSUES } from './bounds.ts'
import { fieldOf } from './field.ts'
import { isSuspect } from './json.ts'

/** Zod's names on the left, our published ones on the right; the rest are the same. */
const CODES: Record<string, FieldCode> = {
  invalid_format: 'invalid_string',
  invalid_value: 'invalid_enum_value',
  unrecognized_keys: 'custom',
  not_multiple_of: 'custom',
  invalid_key: 'custom',
  invalid_element: 'custom',
}

// Messages for people; a schema's own message takes precedence.
z.config({
  customError: (issue) => {
    if (issue.code === 'invalid_type')
      return issue.input === undefined ? 'Required.' : `Expected ${issue.expected === 'record' ? 'object' : issue.expected}.`
    if (issue.code === 'too_small')
      return `Must ${issue.origin === 'string' ? 'have' : 'be'} at least ${issue.minimum}${unit(issue.origin, issue.minimum)}.`
    if (issue.code === 'too_big')
      return `Must ${issue.origin === 'string' ? 'have' : 'be'} at most ${issue.maximum}${unit(issue.origin, issue.maximum)}.`
    if (issue.code === 'unrecognized_keys') return 'Unknown key.'
    if (issue.code === 'invalid_value') return `Must be one of: ${issue.values.map(String).join(', ')}.`
    return undefined
  },
})

const unit = (origin: string, count: unknown) =>
  origin === 'string' ? (Number(count) === 1 ? ' character' : ' characters') : origin === 'array' ? ' items' : ''

export const compileValidator: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart, method, url }) => {
  const checkBounds = httpPart === 'body' ? compileBodyBounds(schema, `${method} ${url}`) : undefined
  return (input) => {
    const refusal = checkBounds?.(input, { isSuspect: isSuspect(input) })
    if (refusal) return { error: refusal }
    const result = schema.safeParse(input, { reportInput: true })
    if (result.success) return { value: result.data }
    return { error: httpPart === 'params' ? unknownId(result.error, input) : toAppError(result.error) }
  }
}

/** A route whose body is not bounded does not boot. */
function compileBodyBounds(schema: z.ZodType, route: string) {
  try {
    return compileBounds(schema)
  } catch (err) {
    throw new Error(`${route}: ${(err as Error).message}`)
  }
}

/** Values of a request that may be left out, as a schema reads them: then they may also be undefined. */
export type Given<Values> = { [Name in keyof Values]?: Values[Name] | undefined }

/** Reads a part of a body whose schema depends on the rest. `path` is its place in the body. */
export function parseAt<Schema extends z.ZodType>(schema: Schema, value: unknown, path: string): z.output<Schema> {
  const result = schema.safeParse(value, { reportInput: true })
  if (result.success) return result.data
  throw toAppError(result.error, path.split('.'))
}

/** A value of the wrong type gets no further issue. */
function toAppError({ issues }: z.ZodError, root: PropertyKey[] = []) {
  const first = issues.slice(0, MAX_ISSUES).map((issue) => ({ ...issue, path: [...root, ...issue.path] }))
  const wrongKind = new Set(first.filter(({ code }) => code === 'invalid_type').map(({ path }) => fieldOf(path)))
  const errors = first.filter(({ code, path }) => code === 'invalid_type' || !wrongKind.has(fieldOf(path))).map(toIssue)
  return new AppError('VALIDATION_ERROR', { errors })
}

function toIssue(issue: z.core.$ZodIssue): FieldIssue {
  const unknownKey = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  const field = fieldOf([...issue.path, ...unknownKey])
  if (issue.code === 'invalid_type' && issue.input === undefined) return { field, message: issue.message, code: 'required' }
  // Zod does not type the parameters of custom checks.
  const own = issue.code === 'custom' ? (issue.params?.code as FieldCode | undefined) : undefined
  const code = own ?? CODES[issue.code] ?? (isFieldCode(issue.code) ? issue.code : 'custom')
  // Only the type of the value: the value itself may be a password.
  const received = issue.code === 'invalid_type' ? { received: kindOf(issue.input) } : {}
  return { field, message: issue.message, code, ...received }
}

const isFieldCode = (code: string): code is FieldCode => (FIELD_CODES as readonly string[]).includes(code)

const kindOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** A malformed id is an id of no resource: 404. */
function unknownId({ issues }: z.ZodError, input: unknown) {
  const name = String(issues[0]?.path[0] ?? 'id')
  const id = String((input as Record<string, unknown>)[name] ?? '').slice(0, 100)
  const resource = issues[0]?.message ?? 'resource'
  return new AppError('RESOURCE_NOT_FOUND', { message: `No such ${resource}.`, details: { resource, id } })
}

/** An id in a path. `resource` is its name in a 404. */
export const Id = (resource: string) => z.uuid({ error: resource })

/** An email address in any spelling, normalised to the stored one. In a check, which costs half of a transform. */
export const Address = z
  .string()
  .max(320, { abort: true })
  .check((given) => {
    const address = readAddress(given.value)
    if (address) given.value = address
    else given.issues.push({ code: 'invalid_format', format: 'email', message: 'Not a valid email address.', input: given.value })
  })
  .meta({ format: 'email' })

/** A time that a caller sends: ISO 8601 in UTC. */
export const GivenTime = z.iso.datetime()

const { $schema: _, ...TIME } = z.toJSONSchema(GivenTime)

/** A time of an answer: a `Date`, which JSON writes as ISO 8601 in UTC with milliseconds, or such a text. */
export const Timestamp = z
  .unknown()
  .refine((time) => time instanceof Date || GivenTime.safeParse(time).success)
  .meta(TIME as Record<string, unknown>) as z.ZodType<Date | string>
