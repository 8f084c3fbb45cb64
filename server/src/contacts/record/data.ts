import { z } from 'zod'

/** Values to merge into the stored `data`, keys to delete from it, and values for this request only. */
export type DataPatch = { set: Record<string, unknown>; unset: string[]; transient: Record<string, unknown> }

/** Ignored in requests: the service itself provides these variables. */
const RESERVED = new Set([
  ...['id', 'email', 'service_id', 'service_email', 'sterna_id', 'sterna_email'],
  ...['unsubscribeUrl', 'subscribeUrl', 'manageUrl'],
])
const MAX_KEYS = 500
const MAX_KEY_BYTES = 255
const MAX_VALUE_LENGTH = 65_536

export type FieldType = 'number' | 'boolean' | 'date' | 'string'
const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,9})?Z)?$/

/** Schema of `data` for every endpoint that accepts it. Its output is the patch. */
export const Data = z
  .record(z.string(), z.unknown())
  .meta({
    maxProperties: MAX_KEYS,
    description: 'Custom fields. A key set to null is deleted, "" is ignored, { value, persistent: false } is not stored.',
  })
  .check(({ value: data, issues }) => {
    const issue = (path: string[], message: string, code = 'custom') =>
      issues.push({ code: 'custom', path, message, params: { code }, input: data })
    const keys = Object.keys(data)
    if (keys.length > MAX_KEYS) issue([], `At most ${MAX_KEYS} keys.`, 'too_big')
    for (const key of keys.slice(0, MAX_KEYS)) {
      if (key === '' || Buffer.byteLength(key) > MAX_KEY_BYTES)
        issue([key.slice(0, 50)], `A key has 1 to ${MAX_KEY_BYTES} bytes.`, 'too_big')
      else if (key === 'locale' && !isText(unwrap(data[key]).value)) issue([key], 'Must be a string.', 'invalid_type')
      else if (sizeOf(data[key]) > MAX_VALUE_LENGTH) issue([key], `A value has at most ${MAX_VALUE_LENGTH} characters.`, 'too_big')
    }
  })
  .transform(readData)

export const NO_DATA: DataPatch = readData({})

export function readData(data: Record<string, unknown>): DataPatch {
  // No prototype, so that "constructor" is an ordinary key.
  const patch: DataPatch = { set: Object.create(null), unset: [], transient: Object.create(null) }
  for (const [key, given] of Object.entries(data)) {
    const { value, persistent } = unwrap(given)
    if (RESERVED.has(key) || value === '') continue
    if (!persistent) patch.transient[key] = value
    else if (value === null || value === undefined) patch.unset.push(key)
    else patch.set[key] = value
  }
  return patch
}

function unwrap(given: unknown): { value: unknown; persistent: boolean } {
  const wrapped =
    typeof given === 'object' && given !== null && 'value' in given && 'persistent' in given && typeof given.persistent === 'boolean'
  return wrapped ? { value: given.value, persistent: given.persistent as boolean } : { value: given, persistent: true }
}

const isText = (value: unknown) => typeof value === 'string' || value === null || value === undefined
const sizeOf = (value: unknown) => (typeof value === 'string' ? value.length : typeof value === 'object' ? JSON.stringify(value).length : 0)

export function inferType(value: unknown): FieldType {
  if (typeof value === 'number' || typeof value === 'boolean') return typeof value as 'number' | 'boolean'
  return typeof value === 'string' && DATE.test(value) ? 'date' : 'string'
}

/** Combines two patches of one contact; for each key the second wins. */
export function mergePatches(first: DataPatch, second: DataPatch): DataPatch {
  const set: Record<string, unknown> = Object.assign(Object.create(null), first.set, second.set)
  for (const key of second.unset) delete set[key]
  const unset = [...first.unset.filter((key) => !Object.hasOwn(second.set, key)), ...second.unset]
  return { set, unset: [...new Set(unset)], transient: Object.assign(Object.create(null), first.transient, second.transient) }
}
