import type { Graph } from '../graph/graph.ts'

const MAX_UNDO = 100
/** Typing in one field is undone as a whole. */
const COALESCE_MS = 1_000

type Past = { graph: Graph; what: string; at: number }
/** Graphs before and after the current one. Snapshots share most of their structure. */
export type History = { past: Past[]; future: Graph[] }

export const NO_HISTORY: History = { past: [], future: [] }

/** After a change. `what` names the field that is typed into. */
export function recordChange({ past }: History, before: Graph, what: string, now: number): History {
  const last = past.at(-1)
  const isTyping = what !== '' && last?.what === what && now - last.at < COALESCE_MS
  return {
    past: isTyping ? [...past.slice(0, -1), { ...last, at: now }] : [...past.slice(1 - MAX_UNDO), { graph: before, what, at: now }],
    future: [],
  }
}

type Moved = { history: History; graph: Graph }

export function undoChange({ past, future }: History, current: Graph): Moved | undefined {
  const last = past.at(-1)
  return last && { history: { past: past.slice(0, -1), future: [...future, current] }, graph: last.graph }
}

export function redoChange({ past, future }: History, current: Graph): Moved | undefined {
  const next = future.at(-1)
  return next && { history: { past: [...past, { graph: current, what: '', at: 0 }], future: future.slice(0, -1) }, graph: next }
}
