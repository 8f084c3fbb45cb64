import { describe, expect, test } from 'vitest'
import { positioned } from '../canvas/positioned.ts'
import { changeStep, insertStep, removeStep } from '../commands/edit.ts'
import { branchesOf } from '../steps/views.ts'
import { connect, type Graph, newId, type Step } from './graph.ts'
import { type Line, outlineOf, strayLines } from './outline.ts'

const step = (id: string, type: Step['type'], config: Step['config'] = {}): Step => ({
  id,
  type,
  name: id,
  position: { x: 0, y: 0 },
  config,
})
const arrow = (from: string, to: string, branch: string | null = null) => ({
  id: `${from}-${to}-${branch}`,
  fromStepId: from,
  toStepId: to,
  branch,
  priority: 0,
})
const arrows = ({ transitions }: Graph) =>
  transitions.map(({ fromStepId, toStepId, branch }) => [fromStepId, branch, toStepId].join(' ')).sort()

/** A line as text: `start, mail, ask[yes: a | no: b], after`. */
const show = ({ items, end }: Line): string =>
  [
    ...items.map(({ step: { id }, arms }) =>
      arms.length ? `${id}[${arms.map(({ label, line }) => `${label}: ${show(line)}`).join(' | ')}]` : id,
    ),
    ...(end.is === 'exit' ? [] : [end.is === 'goesTo' ? `→${end.step.id}` : end.is]),
  ].join(', ')

const EMPTY: Graph = { steps: [step('start', 'TRIGGER')], transitions: [] }
const LINE: Graph = {
  steps: [step('start', 'TRIGGER'), step('mail', 'SEND_EMAIL'), step('pause', 'DELAY')],
  transitions: [arrow('start', 'mail'), arrow('mail', 'pause')],
}

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

test('a condition that loses an answer loses its transition', () => {
  const multi = (...ids: string[]) =>
    step('ask', 'CONDITION', { mode: 'multi', field: 'data.plan', branches: ids.map((id) => ({ id, name: id })) })
  const graph = { steps: [multi('a', 'b'), step('x', 'EXIT')], transitions: [arrow('ask', 'x', 'a'), arrow('ask', 'x', 'b')] }
  expect(branchesOf(multi('a', 'b')).map(({ branch }) => branch)).toEqual(['a', 'b', 'default'])
  expect(arrows(changeStep(graph, multi('b')))).toEqual(['ask b x'])
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

test('steps are saved at the positions that the canvas draws them at', () => {
  const { steps } = positioned({
    steps: [step('start', 'TRIGGER'), step('ask', 'CONDITION'), step('yes', 'DELAY'), step('no', 'DELAY')],
    transitions: [arrow('start', 'ask'), arrow('ask', 'yes', 'yes'), arrow('ask', 'no', 'no')],
  })
  const [start, ask, yes, no] = steps.map(({ position }) => position)
  expect([start!.y < ask!.y, ask!.y < yes!.y, yes!.y === no!.y, yes!.x < no!.x]).toEqual([true, true, true, true])
})
