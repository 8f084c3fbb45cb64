import { expect, test } from 'vitest'
import { layoutFlow } from '../canvas/layout.ts'
import { insertStep, removeStep } from '../commands/edit.ts'
import { differenceOf } from './differences.ts'
import type { Graph, Step } from './graph.ts'

const step = (id: string, type: Step['type'], config: Step['config'] = {}): Step => ({
  id,
  type,
  name: id,
  position: { x: 0, y: 0 },
  config,
})
const way = (fromStepId: string, toStepId: string, branch: string | null = null) => ({
  id: `${fromStepId}-${toStepId}`,
  fromStepId,
  toStepId,
  branch,
  priority: 0,
})
const BEFORE: Graph = {
  steps: [step('start', 'TRIGGER'), step('mail', 'SEND_EMAIL', { templateId: 'a' }), step('pause', 'DELAY'), step('end', 'EXIT')],
  transitions: [way('start', 'mail'), way('mail', 'pause'), way('pause', 'end')],
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
