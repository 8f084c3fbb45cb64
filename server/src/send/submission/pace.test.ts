import { expect, test } from 'vitest'
import { MB } from '../../lib/text/units.ts'
import { createIntakePace } from './pace.ts'

test('small messages do not wait, and large ones of one owner do not delay those of another', async () => {
  const paceOf = createIntakePace(() => 0)
  const timeOf = async (owner: string, bytes: number) => {
    const startedAt = performance.now()
    await paceOf(owner)(bytes)
    return performance.now() - startedAt
  }
  await timeOf('busy', 8 * MB)
  await timeOf('busy', 200_000)
  await timeOf('other', 8 * MB)
  // The 8 MB before it take a quarter of a second.
  expect(await timeOf('busy', 8 * MB)).toBeGreaterThan(200)
})
