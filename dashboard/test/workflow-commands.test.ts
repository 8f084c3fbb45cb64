import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Graph as StoredGraph, violationsOf } from '../../server/src/workflows/definition/graph.ts'
import { readStepConfig } from '../../server/src/workflows/definition/step-config.ts'
import { placeKey } from '../src/features/workflows/canvas/layout/geometry.ts'
import { layoutFlow } from '../src/features/workflows/canvas/layout/layout.ts'
import { applyCommand, type Command } from '../src/features/workflows/commands/commands.ts'
import { copyOf, fragmentOf } from '../src/features/workflows/commands/fragment.ts'
import { type History, NO_HISTORY, recordChange, redoChange, undoChange } from '../src/features/workflows/commands/history.ts'
import { problemsOf } from '../src/features/workflows/editor/problems.ts'
import { branchesOf } from '../src/features/workflows/graph/branches.ts'
import { flowOf } from '../src/features/workflows/graph/flow.ts'
import { asidesOf, type Graph, newId, type Place, type Step } from '../src/features/workflows/graph/graph.ts'
import { type Line, outlineOf, strayLines } from '../src/features/workflows/graph/outline.ts'

const EMPTY: Graph = {
  steps: [{ id: newId(), type: 'TRIGGER', name: 'Trigger', position: { x: 0, y: 0 }, config: {} }],
  transitions: [],
}
const TEMPLATE = newId()
const answers = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `b${at}`, name: `Answer ${at}`, operator: 'equals', value: at }))
/** Complete steps, and some that lack something. */
const KINDS: Pick<Step, 'type' | 'config'>[] = [
  { type: 'SEND_EMAIL', config: { templateId: TEMPLATE, recipient: { type: 'CONTACT' } } },
  { type: 'SEND_EMAIL', config: { templateId: '', recipient: { type: 'CONTACT' } } },
  { type: 'DELAY', config: { amount: 2, unit: 'days' } },
  { type: 'WAIT_FOR_EVENT', config: { eventName: 'paid', timeout: 3_600 } },
  { type: 'CONDITION', config: { field: 'data.plan', operator: 'equals', value: 'pro' } },
  { type: 'CONDITION', config: { mode: 'multi', field: 'data.plan', branches: answers(3) } },
  { type: 'CONDITION', config: { mode: 'multi', field: 'data.plan', branches: answers(1) } },
  { type: 'UPDATE_CONTACT', config: { updates: { plan: 'pro' }, subscriptionAction: 'none' } },
  { type: 'WEBHOOK', config: { url: 'https://example.com/x', method: 'POST', headers: {} } },
  { type: 'WEBHOOK', config: { url: '', method: 'POST', headers: {} } },
  { type: 'EXIT', config: { reason: null } },
]

type Pick4 = [kind: number, a: number, b: number, c: number]
const picks = fc.array(fc.tuple(fc.nat(99), fc.nat(999), fc.nat(999), fc.nat(999)), { minLength: 1, maxLength: 25 })

const of = <T>(list: readonly T[], pick: number): T => list[pick % list.length]!
const samePlace = (place: Place, places: Place[]) => places.find((each) => placeKey(each) === placeKey(place))!

/** Where the list and the canvas have a button for adding a step. */
const placesOfLine = ({ items, end }: Line): Place[] => [
  ...items.flatMap(({ place, arms }) => [...(place ? [place] : []), ...arms.flatMap(({ line }) => placesOfLine(line))]),
  ...(end.is === 'exit' ? [] : [end.place]),
]
const placesOfList = (graph: Graph) => [...[outlineOf(graph), ...strayLines(graph)].flatMap(placesOfLine), ...asidesOf(graph)]
const placesOfCanvas = (graph: Graph) => [...layoutFlow(flowOf(graph)).edges.map(({ place }) => place), ...asidesOf(graph)]

/** The command that a number picks among everything that can be done to the graph. */
function commandOf(graph: Graph, [kind, a, b, c]: Pick4): Command {
  const place = of(placesOfCanvas(graph), a)
  const own = graph.steps.filter(({ type }) => type !== 'TRIGGER')
  if (kind < 45 || own.length === 0)
    return { do: 'insert', place, step: { ...EMPTY.steps[0]!, id: newId(), name: `Step ${b}`, ...of(KINDS, b) } }
  const step = of(own, b)
  const extent = c % 2 ? 'step' : 'rest'
  if (kind < 55) return { do: 'connect', place, to: c % 5 ? of(own, c).id : undefined }
  if (kind < 65)
    return {
      do: 'change',
      step: {
        ...step,
        config: of(
          KINDS.filter(({ type }) => type === step.type),
          c,
        ).config,
      },
    }
  if (kind < 75) return { do: 'move', stepId: step.id, extent, place }
  if (kind < 88) return { do: 'paste', place, fragment: copyOf(fragmentOf(graph, step.id, extent)) }
  return { do: 'remove', stepId: step.id, extent }
}

/** With ids by the order of steps, so that two graphs can be compared. */
function shapeOf({ steps, transitions }: Graph) {
  const number = new Map(steps.map(({ id }, index) => [id, index]))
  return {
    steps: steps.map(({ type, name, config }) => ({ type, name, config })),
    transitions: transitions
      .map(({ fromStepId, toStepId, branch }) => `${number.get(fromStepId)} ${branch} ${number.get(toStepId)}`)
      .sort(),
  }
}

const stored = ({ steps, transitions }: Graph): StoredGraph => ({
  steps: steps.map((step) => ({ ...step, templateId: null, createdAt: '', updatedAt: '' })),
  transitions: transitions.map((each) => ({ ...each, createdAt: '' })),
})
const TARGET = { allowed: [], ownHost: 'sterna.example.com' } as unknown as Parameters<typeof readStepConfig>[1]['target']

async function refusals(graph: Graph): Promise<string[]> {
  const found = violationsOf(stored(graph)).map(({ message }) => message)
  for (const step of graph.steps)
    await readStepConfig(step, { path: '', target: TARGET, projectId: newId() }).catch((error: Error) =>
      found.push(`${step.type}: ${error.message}`),
    )
  return found
}

test('after any sequence of edits the server accepts the graph, or a step has a problem', async () => {
  let [accepted, refused] = [0, 0]
  await fc.assert(
    fc.asyncProperty(picks, async (sequence) => {
      const graph = sequence.reduce((current, pick) => applyCommand(current, commandOf(current, pick)), EMPTY)
      const hasProblem = problemsOf(graph).size > 0
      hasProblem ? refused++ : accepted++
      if (!hasProblem) expect(await refusals(graph)).toEqual([])
      // A problem that the server does not see would keep a user from saving for nothing.
      else expect(await refusals(graph)).not.toEqual([])
      const ids = [...graph.steps, ...graph.transitions].map(({ id }) => id)
      expect(new Set(ids).size).toBe(ids.length)
    }),
    { numRuns: 1_000 },
  )
  expect(Math.min(accepted, refused)).toBeGreaterThan(50)
}, 120_000)

test('undoing everything restores the very same graph, and redoing all of it the last one', () => {
  fc.assert(
    fc.property(picks, (sequence) => {
      let [graph, history]: [Graph, History] = [EMPTY, NO_HISTORY]
      for (const pick of sequence) {
        const next = applyCommand(graph, commandOf(graph, pick))
        if (next === graph) continue
        history = recordChange(history, graph, '', 0)
        graph = next
      }
      const last = graph
      for (let moved = undoChange(history, graph); moved; moved = undoChange(history, graph)) ({ graph, history } = moved)
      expect(graph).toBe(EMPTY)
      for (let moved = redoChange(history, graph); moved; moved = redoChange(history, graph)) ({ graph, history } = moved)
      expect(graph).toBe(last)
    }),
    { numRuns: 300 },
  )
}, 60_000)

test('the list and the canvas offer the same places and steps, and the same edits give equal graphs', () => {
  fc.assert(
    fc.property(picks, (sequence) => {
      let [canvas, list] = [EMPTY, EMPTY]
      for (const pick of sequence) {
        const [onCanvas, inList] = [placesOfCanvas(canvas), placesOfList(canvas)]
        expect(inList.map(placeKey).sort()).toEqual(onCanvas.map(placeKey).sort())
        const command = commandOf(canvas, pick)
        const same = 'place' in command ? { ...command, place: samePlace(command.place, inList) } : command
        canvas = applyCommand(canvas, command)
        list = applyCommand(list, same)
        expect(shapeOf(list)).toEqual(shapeOf(canvas))
      }
    }),
    { numRuns: 300 },
  )
}, 60_000)

test('what is moved or pasted keeps its inner order, and what followed comes after it', () => {
  fc.assert(
    fc.property(picks, (sequence) => {
      const graph = sequence.reduce((current, pick) => applyCommand(current, commandOf(current, pick)), EMPTY)
      const own = graph.steps.filter(({ type }) => type !== 'TRIGGER')
      for (const { id } of own) {
        const fragment = fragmentOf(graph, id, 'step')
        for (const { fromStepId, branch } of fragment.exits) {
          const from = fragment.steps.find((step) => step.id === fromStepId)!
          expect(branchesOf(from).some((each) => each.branch === branch)).toBe(true)
        }
        for (const place of placesOfCanvas(graph)) {
          const moved = applyCommand(graph, { do: 'move', stepId: id, extent: 'step', place })
          if (moved !== graph) expect(moved.steps.map((step) => step.id).sort()).toEqual(graph.steps.map((step) => step.id).sort())
        }
      }
    }),
    { numRuns: 100 },
  )
}, 60_000)
