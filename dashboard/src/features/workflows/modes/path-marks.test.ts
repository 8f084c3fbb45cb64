import { expect, test } from 'vitest'
import type { PlacedEdge } from '../canvas/layout/geometry.ts'
import type { Graph } from '../graph/graph.ts'
import { pathMarks } from './path-marks.ts'

const way = (fromStepId: string, toStepId: string, branch: string | null = null) => ({ id: '', fromStepId, toStepId, branch, priority: 0 })
const GRAPH: Graph = {
  steps: [],
  transitions: [way('start', 'ask'), way('ask', 'end', 'yes'), way('ask', 'end', 'no'), way('ask', 'mail', 'maybe')],
}
const edge = (fromStepId: string, branch: string | null) => ({ place: { fromStepId, branch } }) as PlacedEdge

test('steps and edges of the path are on, by the branch that was taken, and the others are off', () => {
  const { marks, edgeMarks } = pathMarks(
    GRAPH,
    [{ stepId: 'start', words: 'at once' }, { stepId: 'ask', branch: 'no' }, { stepId: 'end' }],
    'end',
  )
  expect(['start', 'ask', 'end', 'mail'].map((id) => marks.lookOf!(id))).toEqual(['on', 'on', 'here', 'off'])
  expect(marks.noteOf!('start')).toEqual({ tone: 'muted', words: 'at once' })
  expect([edge('start', null), edge('ask', 'yes'), edge('ask', 'no'), edge('ask', 'maybe')].map((each) => edgeMarks(each)?.look)).toEqual([
    'on',
    'off',
    'on',
    'off',
  ])
})
