import { describe, expect, test } from 'vitest'
import { arrow, LINE, show, step } from '../../../../test/support/graphs.ts'
import { branchesOf } from './branches.ts'
import { connect, type Graph, newId } from './graph.ts'
import { type Line, outlineOf, strayLines } from './outline.ts'

describe('the outline', () => {
  test('shows the step where branches meet after them', () => {
    const graph = {
      steps: [step('start', 'TRIGGER'), step('ask', 'CONDITION'), step('a', 'DELAY'), step('after', 'EXIT')],
      transitions: [arrow('start', 'ask'), arrow('ask', 'a', 'yes'), arrow('a', 'after'), arrow('ask', 'after', 'no')],
    }
    expect(show(outlineOf(graph))).toBe('start, ask[Yes: a, joins | No: joins], after')
  })

  test('names the step that a loop goes back to', () => {
    const loop = { ...LINE, transitions: [...LINE.transitions, arrow('pause', 'mail')] }
    expect(show(outlineOf(loop))).toBe('start, mail, pause, →mail')
  })

  test('shows a wait as a line until the timeout has a step of its own', () => {
    const graph = {
      steps: [step('start', 'TRIGGER'), step('wait', 'WAIT_FOR_EVENT'), step('a', 'DELAY'), step('b', 'EXIT')],
      transitions: [arrow('start', 'wait'), arrow('wait', 'a')],
    }
    expect(show(outlineOf(graph))).toBe('start, wait, a, open')
    const both = connect(graph, { fromStepId: 'wait', branch: 'timeout' }, 'b')
    expect(show(outlineOf(both))).toBe('start, wait[When it happens: a, open | When the time is over: b]')
  })

  test('has every step exactly once, whatever the graph', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const graph = randomGraph(seed)
      const shown = [outlineOf(graph), ...strayLines(graph)].flatMap(idsOf)
      expect([seed, shown.toSorted()]).toEqual([seed, graph.steps.map(({ id }) => id).toSorted()])
    }
  })
})

test('a new id is a UUID', () => {
  expect(newId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

const idsOf = ({ items }: Line): string[] => items.flatMap(({ step: { id }, arms }) => [id, ...arms.flatMap(({ line }) => idsOf(line))])

/** A few steps of all types, and transitions between any of them. */
function randomGraph(seed: number): Graph {
  let state = seed
  const next = (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  const types = ['DELAY', 'CONDITION', 'WAIT_FOR_EVENT', 'EXIT', 'SEND_EMAIL'] as const
  const steps = [step('start', 'TRIGGER'), ...Array.from({ length: 1 + next(9) }, (_, index) => step(`s${index}`, types[next(5)]!))]
  const transitions = steps.flatMap((from) =>
    branchesOf(from).flatMap(({ branch }) => {
      const to = steps[1 + next(steps.length - 1)]
      return to && to !== from && next(4) > 0 ? [arrow(from.id, to.id, branch)] : []
    }),
  )
  return { steps, transitions }
}
