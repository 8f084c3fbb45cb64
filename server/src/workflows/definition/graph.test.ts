import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StepType } from '../steps/kinds.ts'
import { type Graph, type GraphStep, selfEndingWaits, transitionFor, unreachableSteps, violationsOf, withoutStep } from './graph.ts'

const step = (id: string, type: StepType = 'UPDATE_CONTACT', config = {}): GraphStep => ({
  id,
  type,
  name: id,
  position: { x: 0, y: 0 },
  config,
  templateId: null,
  createdAt: '',
  updatedAt: '',
})
const edge = (from: string, to: string, branch: string | null = null) => ({
  id: `${from}-${branch}-${to}`,
  fromStepId: from,
  toStepId: to,
  branch,
  priority: 0,
  createdAt: '',
})
const graphOf = (steps: GraphStep[], ...transitions: ReturnType<typeof edge>[]): Graph => ({
  steps: [step('t', 'TRIGGER'), ...steps],
  transitions,
})

describe('a loop', () => {
  test.each<[StepType, number]>([
    ['DELAY', 0],
    ['WAIT_FOR_EVENT', 0],
    ['UPDATE_CONTACT', 1],
    ['WEBHOOK', 1],
  ])('through a step of type %s has %i violations', (type, count) => {
    const graph = graphOf([step('a', 'CONDITION'), step('b', type)], edge('t', 'a'), edge('a', 'b', 'yes'), edge('b', 'a'))
    expect(violationsOf(graph)).toHaveLength(count)
  })

  test('without a pause is found exactly when a walk over steps without a pause comes back to where it was', () => {
    const types: StepType[] = ['UPDATE_CONTACT', 'WEBHOOK', 'DELAY', 'WAIT_FOR_EVENT']
    const node = fc.record({ type: fc.constantFrom(...types), to: fc.nat({ max: 7 }) })
    fc.assert(
      fc.property(fc.array(node, { minLength: 1, maxLength: 8 }), (nodes) => {
        const steps = nodes.map(({ type }, index) => step(String(index), type))
        const edges = nodes.flatMap(({ to }, index) => (to < nodes.length && to !== index ? [edge(String(index), String(to))] : []))
        const isPause = (index: number) => nodes[index]!.type === 'DELAY' || nodes[index]!.type === 'WAIT_FOR_EVENT'
        const loops = nodes.some((_, start) => {
          let at: number | undefined = start
          for (let taken = 0; at !== undefined && taken <= nodes.length; taken++) {
            if (isPause(at)) return false
            at = edges.find(({ fromStepId }) => fromStepId === String(at)) ? nodes[at]!.to : undefined
          }
          return at !== undefined
        })
        expect(violationsOf(graphOf(steps, ...edges)).length > 0).toBe(loops)
      }),
    )
  })
})

describe('a loop whose waits are for events that it causes', () => {
  const waitFor = (id: string, eventName: string) => step(id, 'WAIT_FOR_EVENT', { eventName })
  const mail = step('m', 'SEND_EMAIL')
  const update = step('u')
  const found = (steps: GraphStep[], ...edges: ReturnType<typeof edge>[]) => selfEndingWaits(graphOf(steps, ...edges)).map(({ id }) => id)
  const round = [edge('t', 'm'), edge('m', 'w'), edge('w', 'm')]

  test.each<[string, string[], GraphStep]>([
    ['email.sent', ['w'], mail],
    ['email.open', ['w'], mail],
    ['segment.vip.entry', ['w'], mail],
    ['contact.subscribed', [], mail],
    ['paid', [], mail],
    ['contact.unsubscribed', ['w'], update],
    ['segment.vip.exit', ['w'], update],
    ['email.sent', [], update],
  ])('waiting for %s: %j', (eventName, expected, { type }) => {
    expect(found([step('m', type), waitFor('w', eventName)], ...round)).toEqual(expected)
  })

  test('has another pause: a delay, another event, or the timeout by which it goes back', () => {
    const sent = waitFor('w', 'email.sent')
    expect(found([mail, sent, step('d', 'DELAY')], edge('m', 'w'), edge('w', 'd'), edge('d', 'm'))).toEqual([])
    expect(found([mail, sent, waitFor('p', 'paid')], edge('m', 'w'), edge('w', 'p'), edge('p', 'm'))).toEqual([])
    expect(found([mail, sent], edge('m', 'w'), edge('w', 'm', 'timeout'))).toEqual([])
    expect(found([mail, sent, step('x', 'EXIT')], edge('m', 'w'), edge('w', 'm'), edge('w', 'x', 'timeout'))).toEqual(['w'])
  })

  test('is found beside a loop that pauses, and not if its cause is in another loop', () => {
    const asks = step('c', 'CONDITION')
    const steps = [mail, asks, waitFor('w', 'email.sent'), waitFor('p', 'paid')]
    const both = [edge('m', 'c'), edge('c', 'w', 'yes'), edge('c', 'p', 'no'), edge('w', 'm'), edge('p', 'm')]
    expect(found(steps, ...both)).toEqual(['w'])
    // The email is on the way through the pause only.
    const apart = [edge('c', 'w', 'yes'), edge('w', 'c'), edge('c', 'p', 'no'), edge('p', 'm'), edge('m', 'c')]
    expect(found(steps, ...apart)).toEqual([])
  })
})

test('a timeout without a transition of its own takes the plain one, and no other branch does', () => {
  const graph = graphOf([step('w', 'WAIT_FOR_EVENT'), step('a'), step('c', 'CONDITION')], edge('w', 'a'), edge('c', 'a', 'yes'))
  expect(transitionFor(graph, 'w', 'timeout')?.toStepId).toBe('a')
  expect(transitionFor(graph, 'c', 'no')).toBeUndefined()
})

test('the branches of a condition with several are its ids and default', () => {
  const config = { mode: 'multi', branches: [{ id: 'a' }, { id: 'b' }] }
  const graph = (branch: string) => graphOf([step('c', 'CONDITION', config), step('x')], edge('c', 'x', branch))
  expect(['a', 'b', 'default', 'yes'].map((branch) => violationsOf(graph(branch)).length)).toEqual([0, 0, 0, 1])
})

describe('removing a step', () => {
  test('with splice never leaves a transition to nowhere, to itself, or a second plain one', () => {
    const link = fc.record({ from: fc.nat({ max: 6 }), to: fc.nat({ max: 6 }) })
    fc.assert(
      fc.property(fc.array(link, { maxLength: 10 }), fc.nat({ max: 6 }), (links, removed) => {
        const ids = ['0', '1', '2', '3', '4', '5', '6']
        const firsts = new Map(links.filter(({ from, to }) => from !== to).map(({ from, to }) => [String(from), String(to)]))
        const graph = graphOf(
          ids.map((id) => step(id, 'DELAY')),
          ...[...firsts].map(([from, to]) => edge(from, to)),
        )
        const after = withoutStep(graph, String(removed), { splice: true })
        expect(violationsOf(after)).toEqual([])
        expect(after.steps).toHaveLength(ids.length)
      }),
    )
  })

  test('without splice takes its transitions with it', () => {
    const graph = graphOf([step('a'), step('b')], edge('t', 'a'), edge('a', 'b'))
    expect(withoutStep(graph, 'a', { splice: false })).toEqual(graphOf([step('b')]))
  })
})

test('steps that nothing leads to are unreachable', () => {
  const graph = graphOf([step('a'), step('b'), step('c')], edge('t', 'a'), edge('b', 'c'))
  expect(unreachableSteps(graph).map(({ id }) => id)).toEqual(['b', 'c'])
})
