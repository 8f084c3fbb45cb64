import { expect, test } from 'vitest'
import { layoutFlow } from './layout.ts'
import { svgPathOf } from './path.ts'
import { isArrow, stepTowards } from './walk.ts'

const out = (fromStepId: string, to: string | undefined, branch: string | null = null) => ({ place: { fromStepId, branch }, label: '', to })
const LAYOUT = layoutFlow({
  roots: ['start'],
  outs: new Map([
    ['start', [out('start', 'ask')]],
    ['ask', [out('ask', 'yes', 'yes'), out('ask', 'no', 'no')]],
    ['yes', [out('yes', 'end')]],
    ['no', [out('no', 'end')]],
    ['end', [out('end', undefined)]],
  ]),
})

test.each([
  ['start', 'ArrowDown', 'ask'],
  ['ask', 'ArrowDown', 'yes'],
  ['yes', 'ArrowRight', 'no'],
  ['no', 'ArrowLeft', 'yes'],
  ['no', 'ArrowDown', 'end'],
  ['end', 'ArrowUp', 'yes'],
  ['end', 'ArrowDown', undefined],
  ['start', 'ArrowUp', undefined],
  ['gone', 'ArrowUp', undefined],
] as const)('from %s, %s leads to %s', (from, key, expected) => {
  expect(isArrow(key) && stepTowards(LAYOUT, from, key)).toBe(expected)
})

test('an edge has round corners', () => {
  expect(
    svgPathOf([
      { x: 0, y: 0 },
      { x: 0, y: 40 },
      { x: 12, y: 40 },
    ]),
  ).toBe('M0 0L0 30Q0 40 6 40L12 40')
  expect(
    svgPathOf([
      { x: 0, y: 0 },
      { x: 0, y: 40 },
    ]),
  ).toBe('M0 0L0 40')
})
