import { expect, test } from 'vitest'
import { MB } from '../../lib/text/units.ts'
import { createIntakePace } from './pace.ts'

test('small messages do not wait, and large ones of one owner do not delay those of another', async () => {
  const pace = createIntakePace(() => 0)
  const startedAt = performance.now()
  await pace('busy', { total: 100_000, bytes: 100_000 })
  await pace('busy', { total: 4 * MB, bytes: 4 * MB })
  await pace('other', { total: 4 * MB, bytes: 4 * MB })
  const before = performance.now() - startedAt
  // The 4 MB before it take a quarter of a second.
  await pace('busy', { total: 5 * MB, bytes: MB })
  expect(performance.now() - startedAt - before).toBeGreaterThan(240)
})
