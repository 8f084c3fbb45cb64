import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ERRORS } from '../src/lib/errors.ts'

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d{3})/gm)].map(([, code, status]) => [code, Number(status)])

test('docs/errors.md lists exactly the errors a caller can see, with their status', () => {
  const inCode = Object.entries(ERRORS).map(([code, [status]]) => [code, status])
  expect(rows.sort()).toEqual(inCode.sort())
})
