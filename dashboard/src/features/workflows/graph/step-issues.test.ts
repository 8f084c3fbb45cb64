import { expect, test } from 'vitest'
import { issuesByStep } from './step-issues.ts'

const step = (id: string) => ({ id, type: 'DELAY' as const, name: id, position: { x: 0, y: 0 }, config: {} })
const GRAPH = {
  steps: [step('a'), step('b')],
  transitions: [{ id: 't', fromStepId: 'a', toStepId: 'b', branch: null, priority: 0 }],
}

test('a refusal of the server is placed at its step', () => {
  const issues = [
    { field: 'steps.1.config.amount', message: 'Too small.' },
    { field: 'transitions.0.toStepId', message: 'A loop needs a pause.' },
    { field: 'version', message: 'Required.' },
  ]
  expect([...issuesByStep(issues, GRAPH)]).toEqual([
    ['b', 'amount: Too small.'],
    ['a', 'A loop needs a pause.'],
  ])
  expect(issuesByStep([], GRAPH).size).toBe(0)
})
