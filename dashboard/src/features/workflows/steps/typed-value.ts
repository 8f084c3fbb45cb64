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

/** The value that is stored. Null deletes the field. A number that is not complete yet counts as 0, and JSON as text. */
export function valueOfRow({ type, text }: Omit<TypedRow, 'name'>): unknown {
  if (type === 'delete') return null
  if (type === 'boolean') return text !== 'false'
  if (type === 'number') return text.trim() === '' || Number.isNaN(Number(text)) ? 0 : Number(text)
  if (type !== 'json') return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
