import { expect, test } from 'vitest'
import { runEach } from './run-each.ts'

test('a step that fails is logged with its name, and the later steps run', async () => {
  const ran: string[] = []
  const logged: unknown[] = []
  const failure = new Error('statement timeout')
  const step = (name: string) => async () => void ran.push(name)
  await runEach(
    { first: step('first'), second: () => Promise.reject(failure), third: step('third') },
    { warn: (fields: unknown) => void logged.push(fields) },
  )
  expect(ran).toEqual(['first', 'third'])
  expect(logged).toEqual([{ err: failure, step: 'second' }])
})
