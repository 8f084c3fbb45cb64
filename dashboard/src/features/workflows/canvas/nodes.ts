import type { Node } from '@xyflow/react'
import { type Graph, type Step, stepById } from '../graph/graph.ts'
import type { WorkflowFigures } from '../steps/step-counts.tsx'
import type { StepTexts } from '../steps/step-texts.ts'
import { type Layout, STEP_SIZE } from './layout/geometry.ts'

/** How a step is shown besides its text. `lost`: would be removed. `off`: not on the path that is shown. */
export type StepLook = 'plain' | 'lost' | 'moving' | 'added' | 'changed' | 'removed' | 'on' | 'here' | 'off'
type StepNote = { tone: 'warning' | 'muted'; words: string }

export type StepData = {
  step: Step
  title: string
  text: string
  look: StepLook
  note: string
  noteTone: StepNote['tone']
  isChosen: boolean
  /** The step that Tab comes to. */
  isEntry: boolean
  figures: WorkflowFigures['steps'][number] | undefined
  [other: string]: unknown
}
export type StepNodeData = Node<StepData, 'step'>

/** Marks that a mode of the canvas shows at a step. */
export type StepMarks = {
  lookOf?: (stepId: string) => StepLook | undefined
  noteOf?: (stepId: string) => StepNote | undefined
  figuresOf?: (stepId: string) => StepData['figures']
}

type Shown = { graph: Graph; layout: Layout; texts: StepTexts; chosen: string | undefined; marks: StepMarks }

/**
 * The nodes of the canvas. A node that has not changed since `previous` stays the same object, so that an edit renders the nodes which it changes
 * and no others.
 */
export function nodesOf({ graph, layout, texts, chosen, marks }: Shown, previous: ReadonlyMap<string, StepNodeData>): StepNodeData[] {
  const entry = stepById(graph, chosen)?.id ?? layout.steps[0]?.id
  return layout.steps.flatMap(({ id, x, y }) => {
    const step = stepById(graph, id)
    if (!step) return []
    const before = previous.get(id)
    const note = marks.noteOf?.(id)
    const data: StepData = {
      step,
      ...texts(step),
      look: marks.lookOf?.(id) ?? 'plain',
      note: note?.words ?? '',
      noteTone: note?.tone ?? 'muted',
      isChosen: id === chosen,
      isEntry: id === entry,
      figures: marks.figuresOf?.(id),
    }
    const kept = before && isSame(before.data, data) ? before.data : data
    if (before && kept === before.data && before.position.x === x && before.position.y === y) return [before]
    return [{ id, type: 'step' as const, position: { x, y }, data: kept, ...STEP_SIZE }]
  })
}

const isSame = (a: StepData, b: StepData) => (Object.keys(b) as (keyof StepData)[]).every((key) => a[key] === b[key])
