import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Flow, Out } from '../../graph/flow.ts'
import { END_SIZE, type Layout, placeKey, ROW_HEIGHT, STEP_SIZE } from './geometry.ts'
import { layoutFlow } from './layout.ts'

/** Steps by number. Each way out leads to a step, or ends. */
const flow = (targets: (number | undefined)[][]): Flow => {
  const outs = new Map(
    targets.map((each, from) => [
      `${from}`,
      each.map((to, at): Out => ({ place: { fromStepId: `${from}`, branch: `${at}` }, label: '', to: to === undefined ? to : `${to}` })),
    ]),
  )
  return { roots: ['0'], outs: withoutStray(outs) }
}

function withoutStray(outs: Flow['outs']): Flow['outs'] {
  const reached = new Set(['0'])
  for (const id of reached) for (const { to } of outs.get(id)!) if (to !== undefined) reached.add(to)
  return new Map([...outs].filter(([id]) => reached.has(id)))
}

/** Mostly forward, as workflows are, with some joins, loops and open ends. */
const someFlow = fc
  .array(fc.array(fc.tuple(fc.nat(99), fc.nat(99)), { minLength: 0, maxLength: 4 }), { minLength: 1, maxLength: 30 })
  .map((steps) =>
    flow(
      steps.map((outs, from) =>
        outs.map(([kind, pick]) => {
          const ahead = steps.length - from - 1
          if (kind < 15 || steps.length === 1) return undefined
          if (kind < 85 && ahead > 0) return from + 1 + (kind < 60 ? pick % Math.min(ahead, 4) : pick % ahead)
          const to = 1 + (pick % (steps.length - 1))
          return to === from ? undefined : to
        }),
      ),
    ),
  )

const boxesOf = ({ steps, ends }: Layout) => [
  ...steps.map(({ x, y }) => ({ x, y, ...STEP_SIZE })),
  ...ends.map(({ x, y }) => ({ x, y, ...END_SIZE })),
]
type Box = ReturnType<typeof boxesOf>[number]

const overlap = (a: Box, b: Box) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height

function leads(outs: Flow['outs'], from: string, to: string): boolean {
  const reached = new Set([from])
  for (const id of reached) for (const out of outs.get(id)!) if (out.to !== undefined) reached.add(out.to)
  return reached.has(to)
}

function faultsOf({ outs }: Flow, layout: Layout): string[] {
  const faults: string[] = []
  const at = new Map(layout.steps.map((step) => [step.id, step]))
  const boxes = boxesOf(layout)
  if (layout.steps.length !== outs.size || at.size !== outs.size) faults.push('not every step is there once')
  if (layout.edges.length !== [...outs.values()].flat().length) faults.push('not every edge is there')
  for (const [index, box] of boxes.entries())
    if (boxes.slice(index + 1).some((other) => overlap(box, other))) faults.push(`overlap at ${box.x} ${box.y}`)
  for (const { place, to, isLoop, points } of layout.edges) {
    const from = at.get(place.fromStepId)!
    if (to !== undefined && !isLoop && at.get(to)!.y <= from.y) faults.push(`${to} is not below ${from.id}`)
    if (isLoop && !leads(outs, to!, from.id)) faults.push(`${placeKey(place)} does not lead back`)
    for (const [index, point] of points.slice(1).entries()) {
      const before = points[index]!
      if (before.x !== point.x && before.y !== point.y) faults.push(`${placeKey(place)} is slanted`)
      const line = { x: Math.min(before.x, point.x), y: Math.min(before.y, point.y) }
      const strip = { ...line, width: Math.abs(before.x - point.x) || 1, height: Math.abs(before.y - point.y) || 1 }
      if (boxes.some((box) => overlap({ ...box, x: box.x + 1, y: box.y + 1, width: box.width - 2, height: box.height - 2 }, strip)))
        faults.push(`${placeKey(place)} crosses a step`)
    }
  }
  for (const id of outs.keys()) {
    const columns = layout.edges.filter(({ place }) => place.fromStepId === id).map(({ plus }) => plus.x)
    if (columns.some((x, index) => index > 0 && x <= columns[index - 1]!)) faults.push(`branches of ${id} are out of order`)
  }
  return faults
}

test('in any workflow no steps overlap, no step is above one that leads to it, and branches stay in order', () => {
  fc.assert(
    fc.property(someFlow, (given) => {
      expect(faultsOf(given, layoutFlow(given))).toEqual([])
    }),
    { numRuns: 6_000 },
  )
}, 120_000)

test('a line goes straight down, and branches meet in the middle', () => {
  const { steps } = layoutFlow(flow([[1], [2, 3], [4], [4], [undefined]]))
  const at = (id: number) => steps.find((step) => step.id === `${id}`)!
  expect([at(0), at(1), at(4)].map(({ x }) => x)).toEqual([at(0).x, at(0).x, at(0).x])
  expect([0, 1, 2, 3, 4].map((id) => at(id).y / ROW_HEIGHT)).toEqual([0, 1, 2, 2, 3])
  expect(at(2).x + at(3).x).toBe(2 * at(1).x)
})

test('steps that nothing leads to stand beside the flow', () => {
  const stray = flow([[1], [undefined], [1]])
  const outs: Flow['outs'] = new Map([...stray.outs, ['2', [{ place: { fromStepId: '2', branch: null }, label: '', to: '1' }]]])
  const { steps } = layoutFlow({ roots: ['0', '2'], outs })
  expect(steps.map(({ id }) => id)).toEqual(['0', '1', '2'])
  expect(steps[2]!.x).toBeGreaterThan(steps[1]!.x + STEP_SIZE.width)
})
