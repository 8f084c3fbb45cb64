import type { Graph, Step } from '../../src/features/workflows/graph/graph.ts'
import type { Line } from '../../src/features/workflows/graph/outline.ts'

export const step = (id: string, type: Step['type'], config: Step['config'] = {}): Step => ({
  id,
  type,
  name: id,
  position: { x: 0, y: 0 },
  config,
})
export const arrow = (from: string, to: string, branch: string | null = null) => ({
  id: `${from}-${to}-${branch}`,
  fromStepId: from,
  toStepId: to,
  branch,
  priority: 0,
})
export const arrows = ({ transitions }: Graph) =>
  transitions.map(({ fromStepId, toStepId, branch }) => [fromStepId, branch, toStepId].join(' ')).sort()

/** A line as text: `start, mail, ask[yes: a | no: b], after`. */
export const show = ({ items, end }: Line): string =>
  [
    ...items.map(({ step: { id }, arms }) =>
      arms.length ? `${id}[${arms.map(({ label, line }) => `${label}: ${show(line)}`).join(' | ')}]` : id,
    ),
    ...(end.is === 'exit' ? [] : [end.is === 'goesTo' ? `→${end.step.id}` : end.is]),
  ].join(', ')

export const LINE: Graph = {
  steps: [step('start', 'TRIGGER'), step('mail', 'SEND_EMAIL'), step('pause', 'DELAY')],
  transitions: [arrow('start', 'mail'), arrow('mail', 'pause')],
}
