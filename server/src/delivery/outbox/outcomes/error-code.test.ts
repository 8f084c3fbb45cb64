import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ERROR_CODES } from './error-code.ts'

test('docs/sending.md has every error code, and says whether a resend may help', () => {
  const rows = readFileSync(new URL('../../../../../docs/sending.md', import.meta.url), 'utf8')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
  for (const [code, mayHelp] of Object.entries(ERROR_CODES)) {
    const row = rows.find((cells) => cells[1]?.split(', ').includes(`\`${code}\``))
    expect(row, code).toBeDefined()
    const isWaiting = row![2] === 'PENDING'
    if (!isWaiting) expect(/^(yes|after)/.test(row![4]!), code).toBe(mayHelp)
  }
})
