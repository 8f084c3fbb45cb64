import { ownValue } from '../../lib/own-value.ts'
import type { Operand } from '../language/expression.ts'
import { fallBack } from '../language/values.ts'
import { lookUpVariable, type Recipient } from '../language/variables.ts'

/** Characters that may still be processed on the main thread. Below zero, the email is left to the render threads. */
export type Budget = { characters: number }
/** `items`: the current item of each loop, from the outermost; `loop`: of the innermost. */
export type FillScope = { recipient: Recipient; budget: Budget; items: unknown[]; loop: LoopState | undefined }
type LoopState = { at: number; length: number }
type ReadValue = (scope: FillScope) => unknown

/** Properties that the engine computes for lists and strings; here they would be read as fields. */
const COMPUTED = new Set(['size', 'first', 'last'])

const LOOP_VALUES: Record<string, (loop: LoopState) => unknown> = {
  index: ({ at }) => at + 1,
  index0: ({ at }) => at,
  rindex: ({ at, length }) => length - at,
  rindex0: ({ at, length }) => length - at - 1,
  first: ({ at }) => at === 0,
  last: ({ at, length }) => at === length - 1,
  length: ({ length }) => length,
}

/** Charges the characters that the next step reads. A list may print less than it costs to traverse, so its JSON is counted. */
export function charge(budget: Budget, value: unknown) {
  if (typeof value === 'string') budget.characters -= value.length
  else if (typeof value === 'object' && value !== null) budget.characters -= JSON.stringify(value).length
  return budget.characters >= 0
}

/** `names`: the local variable of each loop around. Undefined for operands that need the engine. */
export function readOf(operand: Operand, names: string[]): ReadValue | undefined {
  if (operand.kind === 'literal') return () => operand.value
  if (operand.kind === 'path') return readPath(operand.segments, names)
  if (operand.kind !== 'fallback') return undefined
  const first = readOf(operand.first, names)
  const others = operand.others.map((other) => readOf(other, names))
  if (!first || !others.every((other) => other !== undefined)) return undefined
  return (scope) => others.reduce<unknown>((value, other) => fallBack(value, other(scope)), first(scope))
}

function readPath(segments: (string | Operand)[], names: string[]): ReadValue | undefined {
  const [name, property] = segments
  if (name === 'forloop' && names.length) {
    const read = segments.length === 2 && typeof property === 'string' && Object.hasOwn(LOOP_VALUES, property) && LOOP_VALUES[property]
    return read ? ({ loop }) => read(loop!) : undefined
  }
  // Only the engine handles negative indexes and computed properties.
  if (!segments.every((segment) => typeof segment === 'string' && !COMPUTED.has(segment))) return undefined
  const path = segments as string[]
  const depth = names.lastIndexOf(path[0]!)
  if (depth < 0) return ({ recipient }) => lookUpVariable(recipient, path)
  const rest = path.slice(1)
  return ({ items }) => rest.reduce(ownValue, items[depth])
}
