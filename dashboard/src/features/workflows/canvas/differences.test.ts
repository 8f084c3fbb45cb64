import { expect, test } from 'vitest'
import { arrow, step } from '../../../../test/support/graphs.ts'
import { insertStep, removeStep } from '../commands/edit.ts'
import type { Graph } from '../graph/graph.ts'
import { differenceOf } from './differences.ts'
import { layoutFlow } from './layout/layout.ts'

const BEFORE: Graph = {
  steps: [step('start', 'TRIGGER'), step('mail', 'SEND_EMAIL', { templateId: 'a' }), step('pause', 'DELAY'), step('end', 'EXIT')],
  transitions: [arrow('start', 'mail'), arrow('mail', 'pause'), arrow('pause', 'end')],
}

test('steps are added, changed and removed, and so are the ways between them', () => {
  const inserted = insertStep(removeStep(BEFORE, 'pause'), { fromStepId: 'start', branch: null }, step('ask', 'CONDITION'))
  const after = { ...inserted, steps: inserted.steps.map((each) => (each.id === 'mail' ? { ...each, config: { templateId: 'b' } } : each)) }
  const { steps, edges, flow } = differenceOf(BEFORE, after)
  expect(Object.fromEntries(steps)).toEqual({ ask: 'added', mail: 'changed', pause: 'removed' })
  expect(Object.fromEntries(edges)).toEqual({
    'start ': 'added',
    'ask yes': 'added',
    'mail ': 'added',
    'start gone ': 'removed',
    'mail gone ': 'removed',
    'pause ': 'removed',
  })
  expect(
    layoutFlow(flow)
      .steps.map(({ id }) => id)
      .sort(),
  ).toEqual(['ask', 'end', 'mail', 'pause', 'start'])
})

test('a version is not different from itself', () => {
  const { steps, edges, graph } = differenceOf(BEFORE, structuredClone(BEFORE))
  expect([steps.size, edges.size, graph.steps.length]).toEqual([0, 0, 4])
})
