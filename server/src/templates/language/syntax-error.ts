/** A syntax error. Line and column refer to the source as written, counted from 1. */
export class TemplateSyntaxError extends Error {
  readonly line: number
  readonly column: number
  constructor(message: string, { line, column }: { line: number; column: number }) {
    super(message)
    this.line = line
    this.column = column
  }
}

export function refuse(source: string, at: number, message: string): never {
  throw new TemplateSyntaxError(message, placeOf(source, at))
}

export function placeOf(source: string, at: number) {
  const before = source.slice(0, at)
  const line = before.split('\n').length
  return { line, column: at - before.lastIndexOf('\n') }
}
