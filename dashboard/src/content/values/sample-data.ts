/** The object in a JSON text; empty if there is no text, undefined if it is no object. */
export function readSample(text: string): Record<string, unknown> | undefined {
  if (!text.trim()) return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
