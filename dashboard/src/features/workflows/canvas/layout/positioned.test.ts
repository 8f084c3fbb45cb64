import { expect, test } from 'vitest'
import { arrow, step } from '../../../../../test/support/graphs.ts'
import { positioned } from './positioned.ts'

test('steps are saved at the positions that the canvas draws them at', () => {
  const { steps } = positioned({
    steps: [step('start', 'TRIGGER'), step('ask', 'CONDITION'), step('yes', 'DELAY'), step('no', 'DELAY')],
    transitions: [arrow('start', 'ask'), arrow('ask', 'yes', 'yes'), arrow('ask', 'no', 'no')],
  })
  const [start, ask, yes, no] = steps.map(({ position }) => position)
  expect([start!.y < ask!.y, ask!.y < yes!.y, yes!.y === no!.y, yes!.x < no!.x]).toEqual([true, true, true, true])
})
