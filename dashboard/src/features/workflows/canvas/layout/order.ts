import type { Out } from '../../graph/flow.ts'
import { placeKey } from './geometry.ts'

type Forward = Map<string, Out[]>

/**
 * The steps that follow a root, each after all that lead to it, and their ways out that lead forward. `loops` are the places that lead back.
 * Steps in `taken` are not entered.
 */
export function walkForward(root: string, outsOf: (id: string) => Out[], taken: ReadonlySet<string>) {
  const state = new Map<string, 'open' | 'done'>()
  const order: string[] = []
  const forward: Forward = new Map()
  const loops: string[] = []
  const visit = (id: string) => {
    state.set(id, 'open')
    const kept: Out[] = []
    for (const out of outsOf(id)) {
      if (out.to === undefined || taken.has(out.to)) continue
      if (state.get(out.to) === 'open') {
        loops.push(placeKey(out.place))
        continue
      }
      if (!state.has(out.to)) visit(out.to)
      kept.push(out)
    }
    forward.set(id, kept)
    state.set(id, 'done')
    order.push(id)
  }
  visit(root)
  return { order: order.reverse(), forward, loops }
}

/** For each step the steps that lead to it, and its dominator: the last step that every way to it passes. */
export function dominatorsOf(order: string[], forward: Forward) {
  const index = new Map(order.map((id, at) => [id, at]))
  const ledBy = new Map<string, string[]>(order.map((id) => [id, []]))
  for (const id of order) for (const { to } of forward.get(id)!) ledBy.get(to!)!.push(id)
  const dominator = new Map([[order[0]!, order[0]!]])
  const meet = (one: string, other: string) => {
    while (one !== other) {
      if (index.get(one)! > index.get(other)!) one = dominator.get(one)!
      else other = dominator.get(other)!
    }
    return one
  }
  for (const id of order.slice(1)) dominator.set(id, ledBy.get(id)!.reduce(meet))
  return { ledBy, dominator }
}
