import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { documentedLogFields } from '../support/log-fields.ts'

const SRC = fileURLToPath(new URL('../../src', import.meta.url))

/** The fields of each line of the log that are written in place: `log.warn({ err, step }, …)`. */
const CALL = /\b(?:log|warn)(?:\.(?:debug|info|warn|error|fatal)|\[[^\]]+\])?\(\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\},/g

function fieldsIn(text: string) {
  const listed = [...text.matchAll(CALL)].flatMap(([, fields]) =>
    fields!
      // Values are not names: nested objects, calls, and what follows a colon.
      .replace(/\([^()]*\)|\{[^{}]*\}/g, '')
      .split(',')
      .map((field) => field.split(':')[0]!.trim()),
  )
  return listed.filter((name) => /^[a-z]\w*$/i.test(name))
}

test('every field of the log is documented', () => {
  const documented = documentedLogFields()
  const files = (readdirSync(SRC, { recursive: true }) as string[]).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  const used = new Map(files.flatMap((file) => fieldsIn(readFileSync(join(SRC, file), 'utf8')).map((field) => [field, file] as const)))
  expect(used.size).toBeGreaterThan(20)
  expect([...used].filter(([field]) => !documented.has(field))).toEqual([])
})
