import { describe, expect, test } from 'vitest'
import { arrow, arrows, LINE, show, step } from '../../../../test/support/graphs.ts'
import { branchesOf } from '../graph/branches.ts'
import type { Graph } from '../graph/graph.ts'
import { outlineOf } from '../graph/outline.ts'
import { changeStep, insertStep, removeStep } from './edit.ts'

const EMPTY: Graph = { steps: [step('start', 'TRIGGER')], transitions: [] }
describe('inserting a step', () => {
  test('begins an empty workflow', () => {
    expect(show(outlineOf(insertStep(EMPTY, { fromStepId: 'start', branch: null }, step('mail', 'SEND_EMAIL'))))).toBe('start, mail, open')
  })

  test('between two steps keeps what followed', () => {
    const graph = insertStep(LINE, { fromStepId: 'start', branch: null }, step('new', 'DELAY'))
    expect(show(outlineOf(graph))).toBe('start, new, mail, pause, open')
  })

  test('puts what followed on the first branch of a condition', () => {
    const graph = insertStep(LINE, { fromStepId: 'mail', branch: null }, step('ask', 'CONDITION'))
    expect(show(outlineOf(graph))).toBe('start, mail, ask[Yes: pause, open | No: open]')
  })
})

describe('removing a step', () => {
  test('closes the gap', () => {
    expect(show(outlineOf(removeStep(LINE, 'mail')))).toBe('start, pause, open')
  })

  test('takes the steps of its other branches with it', () => {
    const graph = {
      steps: [step('start', 'TRIGGER'), step('ask', 'CONDITION'), step('a', 'DELAY'), step('b', 'DELAY'), step('c', 'EXIT')],
      transitions: [arrow('start', 'ask'), arrow('ask', 'a', 'yes'), arrow('ask', 'b', 'no'), arrow('b', 'c')],
    }
    const after = removeStep(graph, 'ask')
    expect(after.steps.map(({ id }) => id)).toEqual(['start', 'a'])
    expect(arrows(after)).toEqual(['start  a'])
  })

  test('does not lead a step to itself', () => {
    const loop = { ...LINE, transitions: [...LINE.transitions, arrow('pause', 'mail')] }
    expect(arrows(removeStep(loop, 'mail'))).toEqual(['start  pause'])
  })
})

test('a condition that loses an answer loses its transition', () => {
  const multi = (...ids: string[]) =>
    step('ask', 'CONDITION', { mode: 'multi', field: 'data.plan', branches: ids.map((id) => ({ id, name: id })) })
  const graph = { steps: [multi('a', 'b'), step('x', 'EXIT')], transitions: [arrow('ask', 'x', 'a'), arrow('ask', 'x', 'b')] }
  expect(branchesOf(multi('a', 'b')).map(({ branch }) => branch)).toEqual(['a', 'b', 'default'])
  expect(arrows(changeStep(graph, multi('b')))).toEqual(['ask b x'])
})
