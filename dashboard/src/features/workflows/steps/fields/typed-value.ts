export const VALUE_TYPES = { string: 'Text', number: 'Number', boolean: 'Yes or no', date: 'Date', delete: 'Delete', json: 'JSON' }
export type ValueType = keyof typeof VALUE_TYPES
/** A row of the form: the value as text, as it is typed. */
export type TypedRow = { name: string; type: ValueType; text: string }

/** How a stored value is edited. Lists and objects are shown as JSON. */
export function typeOfValue(value: unknown): Omit<TypedRow, 'name'> {
  if (value === null) return { type: 'delete', text: '' }
  if (typeof value === 'number' || typeof value === 'boolean') return { type: typeof value as 'number' | 'boolean', text: String(value) }
  if (typeof value === 'string') return { type: /^\d{4}-\d{2}-\d{2}$/.test(value) ? 'date' : 'string', text: value }
  return { type: 'json', text: JSON.stringify(value) }
}

/** Why the text of a row is no value yet; undefined if it is one. */
export function problemOfRow({ type, text }: Omit<TypedRow, 'name'>): string | undefined {
  if (type === 'number') return text.trim() === '' || !Number.isFinite(Number(text)) ? 'Enter a number.' : undefined
  if (type === 'date') return text === '' ? 'Choose a date.' : undefined
  return type === 'json' && !isJson(text) ? 'This is not valid JSON yet.' : undefined
}

/** The value that is stored, of a row without a problem. Null deletes the field. */
export function valueOfRow({ type, text }: Omit<TypedRow, 'name'>): unknown {
  if (type === 'delete') return null
  if (type === 'boolean') return text !== 'false'
  if (type === 'number') return Number(text)
  return type === 'json' ? JSON.parse(text) : text
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
