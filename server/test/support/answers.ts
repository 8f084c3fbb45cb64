import { expect } from 'vitest'
import type { Answer } from './app.ts'

/** `[status]` of a success, `[status, code]` of an error. */
export const outcome = ({ status, body }: Answer): [number, string?] => (status < 400 ? [status] : [status, body.error.code])

/** `[field, code]` of every issue of a 422. */
export const issues = ({ body }: Answer): [string, string][] =>
  body.error.errors?.map(({ field, code }: { field: string; code: string }) => [field, code])

/** The fields that a 422 names, each once. */
export const fields = ({ body }: Answer): string[] => [...new Set<string>(body.error.errors.map((issue: { field: string }) => issue.field))]

export const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort()

/** The bare `{ error }` of routes that keep this older shape. */
export const plainError = { error: expect.stringMatching(/./) }
