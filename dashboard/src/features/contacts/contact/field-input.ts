/** Typed text as the value of a field: JSON where it is JSON, otherwise text. `"5"` stays text, `5` is a number. */
export function readValue(typed: string): unknown {
  const text = typed.trim()
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The text to edit a value. Text that would be read as something else is quoted. */
export function writeValue(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return readValue(value) === value ? value : JSON.stringify(value)
}
